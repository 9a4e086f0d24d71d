import type { Command } from 'commander'
import { withView, withWatch } from '../api-options.ts'
import { withExamples } from '../examples.ts'
import type { NewNodeOptions } from '../nodes/add-node.ts'
import type { NodeOptions } from '../nodes/machine-hosts.ts'
import type { MaintenanceOptions } from '../nodes/maintain-node.ts'
import { noun } from '../noun.ts'
import type { Operator } from '../operator.ts'

export function addNodeCommands(program: Command, operator: Operator): void {
  const node = noun(program, 'node', 'machines that hosts give to servers as a whole')
  addEnrolment(node, operator)
  addReading(node, operator)
  addUpkeep(node, operator)
}

function addEnrolment(node: Command, operator: Operator): void {
  withExamples(
    ofHost(node.command('add <node>')),
    './weir node add rack1-07 --mac 52:54:00:12:34:56 --bmc 192.0.2.7 --bmc-user weir',
    './weir node add rack1-08 --mac 52:54:00:12:34:57 --efi --class CUSTOM_GOLD --host metal-1',
  )
    .description('give a machine to a host, which inspects and cleans it first')
    .requiredOption('--mac <address>', 'of the NIC that it boots from the network with')
    .option('--efi', 'its firmware is UEFI, not BIOS')
    .option('--class <class>', 'what flavors ask for (default: named after its size)')
    .option('--trait <trait...>', 'what flavors may ask for besides')
    .option(
      '--bmc <address>',
      'of its BMC, with a port if it is not 623; without, people switch it',
    )
    .option('--bmc-user <name>', 'as whom to log in to the BMC')
    .option('--bmc-password-file <file>', 'else WEIR_BMC_PASSWORD, else standard input is asked')
    .option('--bmc-operator', 'the user has the privilege operator, not administrator')
    .action(async (name: string, options: NewNodeOptions) => {
      const { addNode } = await import('../nodes/add-node.ts')
      await addNode(operator, name, options)
    })
  withExamples(ofHost(node.command('remove <node>')), './weir node remove rack1-07')
    .description('take a machine without a server away from its host')
    .action(async (name: string, options: NodeOptions) => {
      const { removeNode } = await import('../nodes/remove-node.ts')
      await removeNode(operator, name, options)
    })
}

function addReading(node: Command, operator: Operator): void {
  withExamples(
    withWatch(ofHost(node.command('list'))),
    './weir node list',
    './weir node list --host metal-1 -o wide --watch',
  )
    .description('the machines of all hosts, or of one')
    .action(async (options: NodeOptions) => {
      const { listNodes } = await import('../nodes/list-nodes.ts')
      await listNodes(operator, options)
    })
  withExamples(withWatch(ofHost(node.command('show <node>'))), './weir node show rack1-07')
    .description('everything about one machine')
    .action(async (name: string, options: NodeOptions) => {
      const { showNode } = await import('../nodes/show-node.ts')
      await showNode(operator, name, options)
    })
  withExamples(withWatch(ofHost(node.command('sensors <node>'))), './weir node sensors rack1-07')
    .description('what a machine measures of itself: temperatures, fans, voltages')
    .action(async (name: string, options: NodeOptions) => {
      const { listSensors } = await import('../nodes/list-sensors.ts')
      await listSensors(operator, name, options)
    })
}

function addUpkeep(node: Command, operator: Operator): void {
  withExamples(ofHost(node.command('inspect <node>')), './weir node inspect rack1-07')
    .description('find out anew what a machine without a server is made of, and clean it')
    .action(async (name: string, options: NodeOptions) => {
      const { inspectNode } = await import('../nodes/inspect-node.ts')
      await inspectNode(operator, name, options)
    })
  withExamples(
    ofHost(node.command('maintenance <node>')),
    "./weir node maintenance rack1-07 --reason 'a fan'",
    './weir node maintenance rack1-07 --off',
  )
    .description('give it to no further server; one that has it keeps it')
    .option('--reason <text>', 'why: operators are shown it')
    .option('--off', 'servers may get it again')
    .action(async (name: string, options: MaintenanceOptions) => {
      const { maintainNode } = await import('../nodes/maintain-node.ts')
      await maintainNode(operator, name, options)
    })
}

/** Names of machines are unique within their host only. */
function ofHost(command: Command): Command {
  return withView(command)
    .option('--host <host>', 'the host that has it')
    .option('--cell <cell>', 'where several cells have a host of this name')
}
