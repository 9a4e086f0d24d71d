import { Failure, isFailure } from '#common/errors.ts'
import { errorFields } from '#common/log.ts'
import type { InstanceSpec } from '../driver.ts'
import { storageFailure } from '../storage-failure.ts'
import { type Container, findContainer } from './containers/container.ts'
import { createContainer } from './containers/create-container.ts'
import { removeInstance } from './destroy.ts'
import type { DockerHost } from './host.ts'
import { containerName, isOwn } from './names.ts'
import { powerOn } from './power.ts'

const CLEAN_UP_MS = 60_000

/**
 * Afterwards the instance runs. Networks, volumes and container are made before the container is started, so one that
 * was never started is an interrupted spawn and is rebuilt.
 */
export async function spawn(
  host: DockerHost,
  spec: InstanceSpec,
  signal: AbortSignal,
): Promise<void> {
  await host.locks.runPreemptible(spec.id, signal, async (spawnSignal) => {
    const existing = await existingContainer(host, spec, spawnSignal)
    if (existing !== undefined && existing.State.Status !== 'created')
      return powerOn(host, existing, spawnSignal)
    try {
      await build(host, spec, spawnSignal)
    } catch (error) {
      if (!isFailure(error, 'unavailable')) await cleanUp(host, spec)
      throw spawnSignal.aborted ? error : asFault(spec, storageFailure(error))
    }
  })
}

async function existingContainer(
  host: DockerHost,
  spec: InstanceSpec,
  signal: AbortSignal,
): Promise<Container | undefined> {
  const container = await findContainer(host, containerName(spec.id), signal)
  if (container === undefined || isOwn(host.owner, container.Config.Labels)) return container
  throw new Failure('conflict', `Instance ${spec.id} cannot be built on this host.`, {
    detail: `container ${containerName(spec.id)} exists and belongs to another cell or host`,
  })
}

async function build(host: DockerHost, spec: InstanceSpec, signal: AbortSignal): Promise<void> {
  await removeInstance(host, spec.id, signal)
  const image = await host.images.ensure(spec.image, signal)
  const name = containerName(spec.id)
  try {
    await createContainer(host, { spec, image, name }, signal)
    await host.engine.call('POST', `/containers/${name}/start`, { signal })
  } catch (cause) {
    // A missing image or network is a failure of the host: `not-found` would say that the instance is missing.
    if (!isFailure(cause, 'not-found')) throw cause
    const why = `Instance ${spec.id} could not be built on this host.`
    throw new Failure('internal', why, { cause })
  }
}

/** An object of the host that is in the way becomes a failure that names the instance. */
function asFault({ id }: InstanceSpec, cause: unknown): unknown {
  if (!isFailure(cause, 'conflict')) return cause
  return new Failure(
    'conflict',
    `Instance ${id} needs a name or a network that this host uses for another object.`,
    { cause },
  )
}

/** The caller's signal may have ended the spawn, so this one has a limit of its own. */
async function cleanUp(host: DockerHost, spec: InstanceSpec): Promise<void> {
  try {
    await removeInstance(host, spec.id, AbortSignal.timeout(CLEAN_UP_MS))
  } catch (error) {
    host.logger?.error({ ...errorFields(error), instance: spec.id }, 'failed spawn left something')
    throw new Failure('unavailable', 'The host could not undo the build.', {
      cause: error,
    })
  }
}
