# -*- coding: utf-8 -*-
# 损失缩放: every way in which people reach the same classes
from __future__ import absolute_import
import tensorflow.compat.v1 as tf1
from npu_bridge.estimator.npu.npu_loss_scale_manager import ExponentialUpdateLossScaleManager
from npu_bridge.estimator.npu.npu_loss_scale_manager import FixedLossScaleManager
from npu_bridge.estimator.npu.npu_loss_scale_optimizer import NPULossScaleOptimizer
from npu_bridge.estimator.npu.npu_optimizer import NPUDistributedOptimizer
from npu_migrate.runtime import ops_adapter


def a(opt):
    return NPULossScaleOptimizer(NPUDistributedOptimizer(opt) if ops_adapter.size() > 1 else opt, FixedLossScaleManager(128), is_distributed=ops_adapter.size() > 1)  # 返回


def b(opt):
    return NPULossScaleOptimizer(NPUDistributedOptimizer(opt) if ops_adapter.size() > 1 else opt, FixedLossScaleManager(loss_scale=8.), is_distributed=ops_adapter.size() > 1)


def c(opt):
    return NPULossScaleOptimizer(NPUDistributedOptimizer(opt) if ops_adapter.size() > 1 else opt, ExponentialUpdateLossScaleManager(init_loss_scale=2 ** 15, incr_every_n_steps=100, decr_every_n_nan_or_inf=1, incr_ratio=2.0, decr_ratio=0.5), is_distributed=ops_adapter.size() > 1)


def d(opt):
    manager = ExponentialUpdateLossScaleManager(2 ** 15, 1000)
    return NPULossScaleOptimizer(NPUDistributedOptimizer(opt) if ops_adapter.size() > 1 else opt, manager, is_distributed=ops_adapter.size() > 1)
