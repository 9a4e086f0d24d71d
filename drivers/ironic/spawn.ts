import { Failure, isFailure } from '#common/errors.ts'
import { errorFields } from '#common/log.ts'
import { requestedTraits, whyTraitsDiffer } from '#common/traits.ts'
import type { InstanceSpec } from '../driver.ts'
import { refuseTraits } from '../machine-traits.ts'
import { storageFailure } from '../storage-failure.ts'
import { wantedClass } from '../wanted-class.ts'
import { deploy } from './deploy.ts'
import { deployable, fits, type IronicImage, refuseUnfit } from './deployable.ts'
import { removeInstance } from './destroy.ts'
import { findHeld, settledNode } from './held-node.ts'
import type { IronicHost } from './host.ts'
import { classOf, type IronicNode, isFree } from './ironic-node.ts'
import { powerOn } from './power.ts'

/**
 * Afterwards the instance runs on a node of its own. A node that was partly deployed is deployed again. An abort leaves
 * the node as it is: the host stops, and the cell repeats the request or deletes the server.
 */
export async function spawn(
  host: IronicHost,
  spec: InstanceSpec,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted()
  await host.locks.runPreemptible(spec.id, signal, async (spawnSignal) => {
    try {
      await build(host, spec, spawnSignal)
    } catch (thrown) {
      const error = storageFailure(thrown)
      if (!spawnSignal.aborted && !isFailure(error, 'unavailable')) await cleanUp(host, spec)
      throw error
    }
  })
}

/** The image is there before a node is claimed, so one that cannot be had costs no cleaning. */
async function build(host: IronicHost, spec: InstanceSpec, signal: AbortSignal): Promise<void> {
  let held = await findHeld(host, spec.id, signal)
  if (held !== undefined) held = await settledNode(host, held.uuid, signal)
  if (held?.provision_state === 'active') return powerOn(host, held, signal)
  const resourceClass = wantedClass(spec.flavor)
  await using image = await deployable(host, spec, signal)
  const node = held ?? (await claim(host, spec, { resourceClass, image }, signal))
  const deployed = await deploy(host, node, spec, { image, target: 'active' }, signal)
  await powerOn(host, deployed, signal)
}

/** Afterwards the server has a node of the class. Throws `no-capacity` when none is free, `invalid` when none can have the image. */
async function claim(
  { client, owner }: IronicHost,
  spec: InstanceSpec,
  { resourceClass, image }: { readonly resourceClass: string; readonly image: IronicImage },
  signal: AbortSignal,
): Promise<IronicNode> {
  const { id } = spec
  const weir = { cell: owner.cellId, host: owner.hostId, instance: id }
  const all = await client.nodes(signal)
  const free = all.filter((node) => isFree(node) && classOf(node) === resourceClass)
  for (const node of free.filter((each) => fits(each, image) && hasTraits(each, spec))) {
    try {
      // Ironic lends no node that has an instance.
      await client.patch(
        node.uuid,
        [
          { op: 'add', path: '/instance_uuid', value: id },
          { op: 'add', path: '/extra/weir', value: weir },
        ],
        signal,
      )
      return { ...node, instance_uuid: id, extra: { weir } }
    } catch (error) {
      if (!isFailure(error, 'conflict', 'not-found')) throw error
    }
  }
  for (const node of free) {
    refuseTraits(spec, node.uuid, node.traits ?? [])
    refuseUnfit(node, spec.image, image)
  }
  throw new Failure('no-capacity', `No node of class ${resourceClass} is free in this Ironic.`)
}

function hasTraits({ traits = [] }: IronicNode, { flavor, image }: InstanceSpec): boolean {
  const requested = requestedTraits(flavor.extraSpecs, image.properties)
  return whyTraitsDiffer(requested, traits) === undefined
}

/** The caller's signal may have ended the spawn. */
async function cleanUp(host: IronicHost, { id }: InstanceSpec): Promise<void> {
  try {
    await removeInstance(host, id, AbortSignal.timeout(host.deployMs))
  } catch (error) {
    host.logger?.error({ ...errorFields(error), instance: id }, 'failed spawn left something')
    throw new Failure('unavailable', 'The host could not undo the build.', {
      cause: error,
    })
  }
}
