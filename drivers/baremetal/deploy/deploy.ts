import { Failure, isFailure } from '#common/errors.ts'
import type { InstanceSpec } from '../../driver.ts'
import { toldOfMachine } from '../../told-network.ts'
import type { BaremetalHost } from '../host.ts'
import { writeImage } from '../netboot/run-in-ramdisk.ts'
import type { DiskContent, DiskPatch } from '../netboot/tasks.ts'
import { withinTask } from '../netboot/within-task.ts'
import { machineOf } from '../nodes/machine-of.ts'
import { type Node, nicsOf } from '../nodes/node.ts'
import { patient } from '../parts/patient.ts'
import { powerOn } from '../power.ts'
import { configPartition } from './config-partition.ts'

/** Throws `invalid` when no machine of this node's kind can hold the image or have the server's ports. */
export function refuseUnfit(
  node: Node,
  { image, flavor, nics }: InstanceSpec,
  content: DiskContent,
): void {
  const [disk, macs] = [diskBytes(node), nicsOf(node)]
  if (content.sizeBytes > disk)
    throw new Failure(
      'invalid',
      `Image ${image.id} needs ${content.sizeBytes} bytes of disk; machines of flavor ${flavor.name} have ${disk}.`,
    )
  if (nics.length > macs.length)
    throw new Failure(
      'invalid',
      `The server has ${nics.length} ports; machines of flavor ${flavor.name} have ${macs.length} NICs.`,
    )
}

/**
 * Afterwards a node that is `deploying` has the image on its disk and is `active`, and runs from it unless told otherwise.
 * Throws `internal` when the machine cannot be brought to that, a BMC that stays silent included.
 */
export async function deploy(
  host: BaremetalHost,
  node: Node,
  spec: InstanceSpec,
  { image, runs }: { readonly image: DiskContent; readonly runs: boolean },
  signal: AbortSignal,
): Promise<void> {
  const machine = patient(machineOf(node), host.silenceMs)
  const patches = await configPatches(node, spec, image, signal)
  try {
    await withinTask(host, signal, (taskSignal) =>
      writeImage(machine, host.bootServer, { image, patches }, taskSignal),
    )
    await host.nodes.move(node, 'done')
    host.lines.start(node)
    if (runs) await powerOn(host, node, signal)
  } catch (error) {
    signal.throwIfAborted()
    if (!isFailure(error, 'unavailable')) throw error
    // What is known is that it is not deployed; waiting for more would have no end.
    throw new Failure('internal', error.message, { cause: error.cause })
  }
}

/** What tells the guest what it is to be told; nothing for one that is to be told nothing. */
async function configPatches(
  node: Node,
  spec: InstanceSpec,
  image: DiskContent,
  signal: AbortSignal,
): Promise<readonly DiskPatch[]> {
  if (spec.configDrive === undefined) return []
  return configPartition(image, toldOfMachine(spec, nicsOf(node)), diskBytes(node), signal)
}

function diskBytes({ record: { parts } }: Node): number {
  return parts?.disks[0]?.sizeBytes ?? 0
}
