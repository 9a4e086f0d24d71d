import { type Command, Option } from 'commander'
import { withCloud, withView, withWatch } from '../api-options.ts'
import type { CloudOptions } from '../cloud/cloud-config.ts'
import { withExamples } from '../examples.ts'
import { noun } from '../noun.ts'
import type { Operator } from '../operator.ts'
import type { ViewOptions } from '../output/present.ts'
import {
  costWeight,
  limit,
  selector,
  spread,
  toleration,
} from '../placement-policies/option-values.ts'
import type { PolicyOptions } from '../placement-policies/policies.ts'

export function addPolicyCommands(program: Command, operator: Operator): void {
  const policy = noun(
    program,
    'policy',
    'Manage placement policies, which place servers over cells',
  )
  addReading(policy, operator)
  addChanges(policy, operator)
}

function addReading(policy: Command, operator: Operator): void {
  withExamples(withWatch(withView(policy.command('list'))), './weir policy list')
    .description('List placement policies')
    .action(async (options: ViewOptions) => {
      const { listPolicies } = await import('../placement-policies/policies.ts')
      await listPolicies(operator, options)
    })
  withExamples(withWatch(withView(policy.command('show <policy>'))), './weir policy show burst')
    .description('Show a placement policy')
    .action(async (name: string, options: ViewOptions) => {
      const { showPolicy } = await import('../placement-policies/policies.ts')
      await showPolicy(operator, name, options)
    })
}

function addChanges(policy: Command, operator: Operator): void {
  withRules(
    withExamples(
      withView(policy.command('create <policy>')),
      "./weir policy create burst --prefer site=berlin site=cloud '*' --default",
      './weir policy create research --tolerate dedicated=research --project research',
    ),
  )
    .description('Create a placement policy')
    .action(async (name: string, options: PolicyOptions) => {
      const { createPolicy } = await import('../placement-policies/policies.ts')
      await createPolicy(operator, name, options)
    })
  withRules(
    withExamples(
      withView(policy.command('update <policy>')),
      './weir policy update research --project research teaching',
      './weir policy update research --no-project --selectable',
    ).option('--name <name>', 'New name'),
  )
    .description('Change a placement policy; no server moves, and lists replace the present ones')
    .action(async (name: string, options: PolicyOptions) => {
      const { updatePolicy } = await import('../placement-policies/policies.ts')
      await updatePolicy(operator, name, options)
    })
  withExamples(withCloud(policy.command('delete <policy>')), './weir policy delete research')
    .description('Delete a placement policy; its servers stay where they are')
    .action(async (name: string, options: CloudOptions) => {
      const { deletePolicy } = await import('../placement-policies/policies.ts')
      await deletePolicy(operator, name, options)
    })
}

function withRules(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--on-host-failure <action>',
        'What becomes of servers whose host was fenced: build them on another, start them when it is back, or leave them off',
      ).choices(['evacuate', 'restart', 'none']),
    )
    .addOption(
      new Option(
        '--on-guest-failure <action>',
        'What becomes of servers whose guest has ended by itself: leave them off, or start them again',
      ).choices(['none', 'restart']),
    )
    .option('--description <text>', 'Description')
    .option('--project <projects...>', 'Projects to whose servers it applies, by name or ID')
    .option('--no-project', 'Apply it to no project')
    .option('--flavor <flavors...>', 'Flavors to whose servers it applies, by name or ID')
    .option('--no-flavor', 'Apply it to no flavor')
    .option('--default', 'Apply it to servers to which no other policy applies')
    .option('--no-default', 'Do not apply it to other servers')
    .option('--selectable', 'Let users choose it with the scheduler hint policy=NAME')
    .option('--no-selectable', 'Let users not choose it')
    .option('--users-may-move', 'Let users move their servers to other cells')
    .option('--no-users-may-move', 'Let only administrators move its servers')
    .option('--drain-to-other-cells', 'Let drains move its servers to other cells')
    .option(
      '--no-drain-to-other-cells',
      'Keep its servers in their cell unless a drain is asked otherwise',
    )
    .option(
      '--tolerate <taints...>',
      'Taints that its servers tolerate, each as KEY[=VALUE][:EFFECT]',
      toleration,
    )
    .option('--no-tolerate', 'Tolerate no taints')
    .option(
      '--prefer <cells...>',
      "Cells in order of preference, each entry as KEY=VALUE or the name of a cell, several with commas, or '*'",
      selector,
    )
    .option('--no-prefer', 'Treat all cells alike')
    .option(
      '--spread <rule>',
      "Spread each project's servers: cell or zone[:MAX_SKEW[:required]]",
      spread,
    )
    .option('--no-spread', 'Do not spread servers')
    .option(
      '--limit <limits...>',
      'Limits of a project in each cell: servers=N, vcpus=N, memory_mb=N',
      limit,
    )
    .option('--no-limit', 'Remove the limits in cells')
    .option(
      '--cost-weight <number>',
      'How much low prices count, against 1 for the usual choice; 0: not at all',
      costWeight,
    )
}
