import type { Command } from 'commander'
import { withView, withWatch } from '../api-options.ts'
import { withExamples } from '../examples.ts'
import type { NewNodeOptions } from '../nodes/add-node.ts'
import type { NodeOptions } from '../nodes/machine-hosts.ts'
import type { MaintenanceOptions } from '../nodes/nodes.ts'
import { noun } from '../noun.ts'
import type { Operator } from '../operator.ts'

export function addNodeCommands(program: Command, operator: Operator): void {
  const node = noun(program, 'node', 'Manage bare-metal machines')
  addEnrolment(node, operator)
  addReading(node, operator)
  addUpkeep(node, operator)
}

function addEnrolment(node: Command, operator: Operator): void {
  withExamples(
    ofHost(node.command('add <node>')),
    './weir node add rack1-07 --mac 52:54:00:12:34:56 --bmc 192.0.2.7 --bmc-user weir',
    './weir node add rack1-08 --mac 52:54:00:12:34:57 --efi --class CUSTOM_GOLD --host metal-1',
    './weir node add rack1-09 --mac 52:54:00:12:34:58 --nic 52:54:00:12:35:58=SITE 52:54:00:12:36:58=SITE:7',
  )
    .description('Enroll a machine with a host, which inspects and cleans it first')
    .requiredOption('--mac <address>', 'MAC address of the NIC from which the machine boots')
    .option(
      '--nic <mac=network...>',
      'NICs for servers, each with its physical network, or network:vlan at an access port (host with OVN)',
    )
    .option('--efi', 'The firmware is UEFI, not BIOS')
    .option(
      '--class <class>',
      'Resource class that flavors request (default: named after the size)',
    )
    .option('--trait <trait...>', 'Traits that flavors may require')
    .option(
      '--bmc <address>',
      'BMC address[:port] (default port 623); omit it if people switch the power',
    )
    .option('--bmc-user <name>', 'BMC user')
    .option(
      '--bmc-password-file <file>',
      'File with the BMC password (default: WEIR_BMC_PASSWORD, else standard input)',
    )
    .option('--bmc-operator', 'The BMC user has the privilege operator, not administrator')
    .action(async (name: string, options: NewNodeOptions) => {
      const { addNode } = await import('../nodes/add-node.ts')
      await addNode(operator, name, options)
    })
  withExamples(ofHost(node.command('remove <node>')), './weir node remove rack1-07')
    .description('Remove a machine without a server from its host')
    .action(async (name: string, options: NodeOptions) => {
      const { removeNode } = await import('../nodes/nodes.ts')
      await removeNode(operator, name, options)
    })
}

function addReading(node: Command, operator: Operator): void {
  withExamples(
    withWatch(ofHost(node.command('list'))),
    './weir node list',
    './weir node list --host metal-1 -o wide --watch',
  )
    .description('List machines')
    .action(async (options: NodeOptions) => {
      const { listNodes } = await import('../nodes/nodes.ts')
      await listNodes(operator, options)
    })
  withExamples(withWatch(ofHost(node.command('show <node>'))), './weir node show rack1-07')
    .description('Show a machine')
    .action(async (name: string, options: NodeOptions) => {
      const { showNode } = await import('../nodes/nodes.ts')
      await showNode(operator, name, options)
    })
  withExamples(withWatch(ofHost(node.command('sensors <node>'))), './weir node sensors rack1-07')
    .description('Show the sensors of a machine: temperatures, fans, voltages')
    .action(async (name: string, options: NodeOptions) => {
      const { listSensors } = await import('../nodes/nodes.ts')
      await listSensors(operator, name, options)
    })
}

function addUpkeep(node: Command, operator: Operator): void {
  withExamples(ofHost(node.command('inspect <node>')), './weir node inspect rack1-07')
    .description('Inspect and clean a machine without a server again')
    .action(async (name: string, options: NodeOptions) => {
      const { inspectNode } = await import('../nodes/nodes.ts')
      await inspectNode(operator, name, options)
    })
  withExamples(
    ofHost(node.command('maintenance <node>')),
    "./weir node maintenance rack1-07 --reason 'a fan'",
    './weir node maintenance rack1-07 --off',
  )
    .description('Place no new server on a machine; its current server stays')
    .option('--reason <text>', 'Reason, shown to operators')
    .option('--off', 'End the maintenance')
    .action(async (name: string, options: MaintenanceOptions) => {
      const { maintainNode } = await import('../nodes/nodes.ts')
      await maintainNode(operator, name, options)
    })
}

/** Names of machines are unique within their host only. */
function ofHost(command: Command): Command {
  return withView(command)
    .option('--host <host>', 'Host that manages the machine')
    .option('--cell <cell>', 'Cell of the host, where several cells have a host of this name')
}
