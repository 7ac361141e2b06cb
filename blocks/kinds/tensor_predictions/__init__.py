"""Predictions on the tensor side: `inference_models.predictions` with the columns of
`sv.Detections`.

Importing this package loads neither torch nor supervision.
"""
