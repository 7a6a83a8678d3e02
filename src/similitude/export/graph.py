"""An ONNX graph under construction: tensors whose arithmetic adds nodes."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np


class Graph:
    """The nodes and constants of a graph, in the order in which they are computed."""

    def __init__(self) -> None:
        import onnx

        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []

    def input(self, name: str, dtype: Any, *shape: int | None) -> Tensor:
        """Add an input; None is a dimension of any size."""
        self.inputs.append(self._described(name, dtype, shape))
        return Tensor(self, name)

    def output(self, name: str, tensor: Tensor, dtype: Any, *shape: int | None) -> None:
        """Make a tensor an output of this name."""
        self.nodes.append(self.onnx.helper.make_node("Identity", [tensor.name], [name]))
        self.outputs.append(self._described(name, dtype, shape))

    def constant(self, values: Any) -> Tensor:
        """Add a constant array; texts are objects."""
        array = np.asarray(values)
        name = f"c{len(self.constants)}"
        if array.dtype.kind in "OU":
            texts: Any = [str(one).encode() for one in array.ravel()]
            made = self.onnx.helper.make_tensor(name, self.onnx.TensorProto.STRING, array.shape, texts)
        else:
            made = self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name)
        self.constants.append(made)
        return Tensor(self, name)

    def node(self, kind: str, *inputs: Any, domain: str = "", **attributes: Any) -> Tensor:
        """Add a node, and return what it computes; arrays and numbers among its inputs become constants."""
        names = [one.name if isinstance(one, Tensor) else self.constant(one).name for one in inputs]
        name = f"t{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, names, [name], domain=domain, **attributes))
        return Tensor(self, name)

    def sum(self, terms: list[Tensor]) -> Tensor:
        """Return the sum of several tensors."""
        return reduce(lambda a, b: a + b, terms)

    def model(self, doc: str) -> Any:
        """Return the finished and checked model."""
        helper = self.onnx.helper
        graph = helper.make_graph(self.nodes, "similitude", self.inputs, self.outputs, self.constants)
        domains = {node.domain for node in self.nodes}
        versions = {"": 20, "ai.onnx.ml": 4, "com.microsoft": 1}  # the oldest that have all that is used
        opsets = [helper.make_opsetid(domain, versions[domain]) for domain in sorted(domains | {""})]
        made = helper.make_model(graph, opset_imports=opsets, ir_version=9, producer_name="similitude")
        made.doc_string = doc
        self.onnx.checker.check_model(made)
        return made

    def _described(self, name: str, dtype: Any, shape: tuple[int | None, ...]) -> Any:
        kind = self.onnx.TensorProto.STRING
        if dtype is not str:
            kind = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.onnx.helper.make_tensor_value_info(name, kind, shape)


def _adding(kind: str) -> Callable[..., Tensor]:
    """Return a function of tensors that adds a node."""

    def add(tensor: Tensor, *others: Any) -> Tensor:
        return tensor.node(kind, *others)

    return add


class Tensor:
    """A tensor of a graph in float64, unless it is said otherwise: its arithmetic adds nodes."""

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph = graph
        self.name = name

    def node(self, kind: str, *others: Any, **attributes: Any) -> Tensor:
        """Return a node whose first input is this tensor; numbers among the others are in float64."""
        inputs = [np.float64(one) if isinstance(one, (int, float)) else one for one in others]
        return self.graph.node(kind, self, *inputs, **attributes)

    def __array_namespace__(self, api_version: Any = None) -> type[Functions]:
        return Functions

    __add__ = __radd__ = _adding("Add")
    __sub__ = _adding("Sub")
    __mul__ = __rmul__ = _adding("Mul")
    __truediv__ = _adding("Div")
    __pow__ = _adding("Pow")
    __matmul__ = _adding("MatMul")
    __neg__ = _adding("Neg")
    __abs__ = _adding("Abs")

    def columns(self, first: int, last: int) -> Tensor:
        """Return some columns."""
        return self.node("Slice", np.array([first]), np.array([last]), np.array([1]))

    def row_sums(self) -> Tensor:
        """Return the sums over rows as one column."""
        return self.node("ReduceSum", np.array([1]), keepdims=1)


class Functions:
    """The functions of tensors that similarities use, by the names of the array API."""

    exp = staticmethod(_adding("Exp"))
    sqrt = staticmethod(_adding("Sqrt"))
    tanh = staticmethod(_adding("Tanh"))
    minimum = staticmethod(_adding("Min"))
    maximum = staticmethod(_adding("Max"))
