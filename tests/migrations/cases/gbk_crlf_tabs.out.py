# -*- coding: gbk -*-
"""训练脚本"""
import tensorflow as tf
from npu_bridge.estimator.npu.npu_loss_scale_manager import FixedLossScaleManager
from npu_bridge.estimator.npu.npu_loss_scale_optimizer import NPULossScaleOptimizer
from npu_bridge.estimator.npu.npu_optimizer import NPUDistributedOptimizer
from npu_migrate.runtime import ops_adapter


def build(opt):
	# 静态损失缩放
	manager = FixedLossScaleManager(1024)   
	return NPULossScaleOptimizer(NPUDistributedOptimizer(opt) if ops_adapter.size() > 1 else opt, manager, is_distributed=ops_adapter.size() > 1), "损失 %s" % manager