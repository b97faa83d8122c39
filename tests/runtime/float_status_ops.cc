// A device that saturates, as far as the tests need one: a status register, the two operations of
// the vendor's op library that read and clear it, and an operation that overflows.

#include <algorithm>
#include <atomic>
#include <cmath>

#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace {

using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;

std::atomic<int> float_status{0};

void OutputStatus(OpKernelContext* context, int status) {
  Tensor* output = nullptr;
  OP_REQUIRES_OK(context, context->allocate_output(0, TensorShape({8}), &output));
  output->flat<tensorflow::int32>().setConstant(status);
}

class GetFloatStatus : public OpKernel {
 public:
  explicit GetFloatStatus(OpKernelConstruction* context) : OpKernel(context) {}
  void Compute(OpKernelContext* context) override { OutputStatus(context, float_status.load()); }
};

class ClearFloatStatus : public OpKernel {
 public:
  explicit ClearFloatStatus(OpKernelConstruction* context) : OpKernel(context) {}
  void Compute(OpKernelContext* context) override {
    float_status.store(0);
    OutputStatus(context, 0);
  }
};

class SaturateFloat16 : public OpKernel {
 public:
  explicit SaturateFloat16(OpKernelConstruction* context) : OpKernel(context) {}
  void Compute(OpKernelContext* context) override {
    constexpr float kLargest = 65504.0f;
    const Tensor& input = context->input(0);
    Tensor* output = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, input.shape(), &output));
    const auto in = input.flat<float>();
    auto out = output->flat<float>();
    for (tensorflow::int64 i = 0; i < in.size(); ++i) {
      if (!(std::fabs(in(i)) <= kLargest)) float_status.store(1);
      out(i) = std::isnan(in(i)) ? 0.0f : std::min(std::max(in(i), -kLargest), kLargest);
    }
  }
};

}  // namespace

REGISTER_OP("NpuGetFloatStatusV2").Output("status: int32").SetIsStateful();
REGISTER_OP("NpuClearFloatStatusV2").Output("status: int32").SetIsStateful();
REGISTER_OP("SaturateFloat16").Input("x: float").Output("y: float").SetIsStateful();

REGISTER_KERNEL_BUILDER(Name("NpuGetFloatStatusV2").Device(tensorflow::DEVICE_CPU), GetFloatStatus);
REGISTER_KERNEL_BUILDER(Name("NpuClearFloatStatusV2").Device(tensorflow::DEVICE_CPU),
                        ClearFloatStatus);
REGISTER_KERNEL_BUILDER(Name("SaturateFloat16").Device(tensorflow::DEVICE_CPU), SaturateFloat16);
