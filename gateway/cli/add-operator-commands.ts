import type { Command } from 'commander'
import { addAuditCommands } from './commands/audit.ts'
import { addCellCommands } from './commands/cell.ts'
import { addCompletionCommands } from './commands/completion.ts'
import { addDebugCommands } from './commands/debug.ts'
import { addDriverCommands } from './commands/driver.ts'
import { addEventsCommand } from './commands/events.ts'
import { addHostCommands } from './commands/host.ts'
import { addImageCommands } from './commands/image.ts'
import { addIntentCommands } from './commands/intent.ts'
import { addNetworkCommands } from './commands/network.ts'
import { addNodeCommands } from './commands/node.ts'
import { addOperationCommands } from './commands/operation.ts'
import { addPolicyCommands } from './commands/policy.ts'
import { addQuotaCommands } from './commands/quota.ts'
import { addRequestCommands } from './commands/request.ts'
import { addServerCommands } from './commands/server.ts'
import { addTopCommand } from './commands/top.ts'
import { addUsageCommand } from './commands/usage.ts'
import { addVerifyCommand } from './commands/verify.ts'
import { addVolumeCommands } from './commands/volume.ts'
import { addWebhookCommands } from './commands/webhook.ts'
import { addWhyCommand } from './commands/why.ts'
import type { Operator } from './operator.ts'

/** Adds what an operator asks a cloud through its API; each command's work is loaded when it runs. */
export function addOperatorCommands(program: Command, operator: Operator): void {
  addCellCommands(program, operator)
  addHostCommands(program, operator)
  addNodeCommands(program, operator)
  addServerCommands(program, operator)
  addVolumeCommands(program, operator)
  addPolicyCommands(program, operator)
  addWhyCommand(program, operator)
  addVerifyCommand(program, operator)
  addEventsCommand(program, operator)
  addWebhookCommands(program, operator)
  addOperationCommands(program, operator)
  addAuditCommands(program, operator)
  addRequestCommands(program, operator)
  addDriverCommands(program, operator)
  addImageCommands(program, operator)
  addIntentCommands(program, operator)
  addNetworkCommands(program, operator)
  addQuotaCommands(program, operator)
  addUsageCommand(program, operator)
  addTopCommand(program, operator)
  addDebugCommands(program, operator)
  addCompletionCommands(program, operator)
}
