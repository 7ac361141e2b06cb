"""From raw outputs of a native detector to final rows, masks and points; needs torch except for
`rotated_boxes`."""
