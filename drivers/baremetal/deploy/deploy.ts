import { Failure, isFailure } from '#common/errors.ts'
import type { InstanceSpec } from '../../driver.ts'
import type { BaremetalHost } from '../host.ts'
import { writeImage } from '../netboot/run-in-ramdisk.ts'
import type { DiskContent } from '../netboot/tasks.ts'
import { withinTask } from '../netboot/within-task.ts'
import { machineOf } from '../nodes/machine-of.ts'
import type { Node } from '../nodes/node.ts'
import { patient } from '../parts/patient.ts'
import { powerOn } from '../power.ts'

/** Throws `invalid` when no machine's disk of this node's kind can hold the image. */
export function refuseTooLarge(
  node: Node,
  { image, flavor }: InstanceSpec,
  content: DiskContent,
): void {
  const disk = node.record.parts?.disks[0]?.sizeBytes ?? 0
  if (content.sizeBytes <= disk) return
  throw new Failure(
    'invalid',
    `Image ${image.id} needs ${content.sizeBytes} bytes of disk; machines of flavor ${flavor.name} have ${disk}.`,
  )
}

/**
 * Afterwards a node that is `deploying` has the image on its disk and is `active`, and runs from it unless told otherwise.
 * Throws `internal` when the machine cannot be brought to that, a BMC that stays silent included.
 */
export async function deploy(
  host: BaremetalHost,
  node: Node,
  content: DiskContent,
  { runs }: { readonly runs: boolean },
  signal: AbortSignal,
): Promise<void> {
  const machine = patient(machineOf(node), host.silenceMs)
  try {
    await withinTask(host, signal, (taskSignal) =>
      writeImage(machine, host.bootServer, content, taskSignal),
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
