import tensorflow as tf
from npu_bridge.estimator.npu.npu_loss_scale_manager import ExponentialUpdateLossScaleManager
from npu_bridge.estimator.npu.npu_loss_scale_manager import FixedLossScaleManager
from npu_bridge.estimator.npu.npu_loss_scale_optimizer import NPULossScaleOptimizer
from npu_bridge.estimator.npu.npu_optimizer import NPUDistributedOptimizer
from npu_migrate.runtime import ops_adapter


def create(opt, use_amp, init_scale):
    if use_amp:
        scaler = ExponentialUpdateLossScaleManager(init_loss_scale=init_scale,
                                                        incr_every_n_steps=1000,
                                                        incr_ratio=2.0, decr_every_n_nan_or_inf=1, decr_ratio=0.5)
        if ops_adapter.size() > 1:
            opt = NPUDistributedOptimizer(opt)
            opt = NPULossScaleOptimizer(opt, scaler, is_distributed=True)
        else:
            opt = NPULossScaleOptimizer(opt, scaler)
        scale_value = tf.identity(scaler.get_loss_scale(), name="loss_scale")
        tf.summary.scalar('loss_scale', scaler.get_loss_scale())
        return opt, scale_value
    return NPULossScaleOptimizer(NPUDistributedOptimizer(opt) if ops_adapter.size() > 1 else opt, loss_scale_manager=ExponentialUpdateLossScaleManager(init_loss_scale=2 ** 15, incr_every_n_steps=2000, decr_every_n_nan_or_inf=1, incr_ratio=2.0, decr_ratio=0.5), is_distributed=ops_adapter.size() > 1), None


def fixed(opt):
    return NPULossScaleOptimizer(NPUDistributedOptimizer(opt) if ops_adapter.size() > 1 else opt, FixedLossScaleManager(128.), is_distributed=ops_adapter.size() > 1)
