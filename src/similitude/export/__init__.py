"""Export of fitted models to ONNX, which other programs and languages run without Python."""

from similitude.export.models import to_onnx

__all__ = ["to_onnx"]
