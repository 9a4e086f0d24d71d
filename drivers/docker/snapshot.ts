import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { isFailure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import { diskFile } from '../disk-file.ts'
import type { DiskImage } from '../driver.ts'
import type { Snapshot } from '../snapshot.ts'
import { getContainer } from './containers/container.ts'
import type { DockerHost } from './host.ts'

const REPOSITORY = 'weir-snapshot'
const REMOVE_MS = 30_000

/** Commits a container's files, which leaves out its volumes, and saves them the way `docker save` does. */
export function dockerSnapshot(host: DockerHost): Snapshot {
  return {
    take: (id, signal) =>
      host.locks.runPreemptible(id, signal, (lockSignal) => take(host, id, lockSignal)),
  }
}

async function take(host: DockerHost, id: InstanceId, signal: AbortSignal): Promise<DiskImage> {
  const { Id, State } = await getContainer(host, id, signal)
  const folder = join(host.stateDirectory, 'snapshots')
  await mkdir(folder, { recursive: true })
  for (const name of await readdir(folder)) if (name.startsWith(id)) await rm(join(folder, name))
  const path = join(folder, `${id}-${randomUUID()}.tar`)
  const name = `${REPOSITORY}:${id}`
  // The engine thaws what it paused for a commit, also a guest that was paused before.
  const pause = State.Status === 'running' ? '1' : '0'
  const query = { container: Id, repo: REPOSITORY, tag: id, pause }
  try {
    await host.engine.call('POST', '/commit', { query, body: {}, signal })
    const archive = await host.engine.open('GET', `/images/${name}/get`, { signal })
    await pipeline(archive, createWriteStream(path, { mode: 0o600 }), { signal })
    return await diskFile(path, 'docker')
  } catch (error) {
    await rm(path, { force: true })
    throw error
  } finally {
    await forget(host, name)
  }
}

/** The caller's signal may have ended the snapshot, so this has a limit of its own. */
async function forget({ engine, logger }: DockerHost, name: string): Promise<void> {
  const signal = AbortSignal.timeout(REMOVE_MS)
  await engine.call('DELETE', `/images/${name}`, { signal }).catch((error: unknown) => {
    if (!isFailure(error, 'not-found')) logger?.warn({ image: name }, 'a snapshot is left behind')
  })
}
