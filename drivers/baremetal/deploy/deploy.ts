import { Failure, isFailure } from '#common/errors.ts'
import type { InstanceSpec } from '../../driver.ts'
import { machineConfigDrive } from '../../machine-config-drive.ts'
import { refuseTraits } from '../../machine-traits.ts'
import type { BaremetalHost } from '../host.ts'
import type { LiveBoot } from '../netboot/live-boots.ts'
import { writeImage } from '../netboot/run-in-ramdisk.ts'
import type { DiskContent, DiskPatch } from '../netboot/tasks.ts'
import { withinTask } from '../netboot/within-task.ts'
import { assignNics } from '../nodes/assign-nics.ts'
import { machineOf } from '../nodes/machine-of.ts'
import { type Node, nicsOf, traitsOf } from '../nodes/node.ts'
import { withRetries } from '../parts/with-retries.ts'
import { powerOn } from '../power.ts'
import { configPartition } from './config-partition.ts'
import type { Deployable } from './deployable.ts'

/**
 * Throws `invalid` when no machine of this node's kind can hold the image or have the server's ports, `no-capacity` when
 * this one lacks a trait or NICs where they are.
 */
export function refuseUnfit(
  { network }: Pick<BaremetalHost, 'network'>,
  node: Node,
  spec: InstanceSpec,
  content: Deployable,
): void {
  const { image, flavor, nics } = spec
  refuseTraits(spec, node.name, traitsOf(node))
  const [disk, macs] = [diskBytes(node), nicsOf(node)]
  const neededBytes = content.disk?.sizeBytes ?? 0
  if (neededBytes > disk)
    throw new Failure(
      'invalid',
      `Image ${image.id} needs ${neededBytes} bytes of disk; machines of flavor ${flavor.name} have ${disk}.`,
    )
  if (network === 'ovn') assignNics(node, nics, network)
  else if (nics.length > macs.length)
    throw new Failure(
      'invalid',
      `The server has ${nics.length} ports; machines of flavor ${flavor.name} have ${macs.length} NICs.`,
    )
}

/**
 * Afterwards a node that is `deploying` has the image, on its disk or to boot from, and is `active`; it runs unless told
 * otherwise.
 * Throws `internal` when the machine cannot be brought to that, a BMC that stays silent included.
 */
export async function deploy(
  host: BaremetalHost,
  node: Node,
  spec: InstanceSpec,
  { image, runs }: { readonly image: Deployable; readonly runs: boolean },
  signal: AbortSignal,
): Promise<void> {
  try {
    if (image.live === undefined) await write(host, node, spec, image.disk, signal)
    else await keep(host, node, spec, image.live, signal)
    await host.nodes.move(node, 'done')
    host.lines.start(node)
    if (runs) await powerOn(host, node, signal)
  } catch (error) {
    signal.throwIfAborted()
    if (!isFailure(error, 'unavailable')) throw error
    // The node is known not to be deployed; waiting for more would have no end.
    throw new Failure('internal', error.message, { cause: error.cause })
  }
}

/** Afterwards the machine is off, and its disk holds the image. */
async function write(
  host: BaremetalHost,
  node: Node,
  spec: InstanceSpec,
  image: DiskContent,
  signal: AbortSignal,
): Promise<void> {
  const machine = withRetries(machineOf(node), host.retryForMs)
  const patches = await configPatches(host, node, spec, image, signal)
  await host.liveBoots.remove(spec.id)
  await withinTask(host, signal, (taskSignal) =>
    writeImage(machine, host.bootServer, { image, patches }, taskSignal),
  )
}

/** Afterwards the machine is off, and boots from the network; its disk is as it was. */
async function keep(
  host: BaremetalHost,
  node: Node,
  { id }: InstanceSpec,
  boot: LiveBoot,
  signal: AbortSignal,
): Promise<void> {
  await withRetries(machineOf(node), host.retryForMs).power.off(signal)
  await host.liveBoots.keep(id, boot)
}

/** The guest's config drive; nothing for a guest without one. */
async function configPatches(
  { network }: BaremetalHost,
  node: Node,
  spec: InstanceSpec,
  image: DiskContent,
  signal: AbortSignal,
): Promise<readonly DiskPatch[]> {
  if (spec.configDrive === undefined) return []
  const files = machineConfigDrive(spec, assignNics(node, spec.nics, network))
  return configPartition(image, files, diskBytes(node), signal)
}

function diskBytes({ record: { parts } }: Node): number {
  return parts?.disks[0]?.sizeBytes ?? 0
}
