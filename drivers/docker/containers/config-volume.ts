import type { Readable } from 'node:stream'
import { pack } from 'tar-stream'
import type { Engine } from '../engine/engine.ts'
import { CONFIG_PATH } from './container-body.ts'

/** Only the guest's administrator reads its user data. */
const SECRET_MODE = 0o600

/** Afterwards the config drive lies in the volume that the container mounts for it. */
export async function fillConfigVolume(
  engine: Engine,
  container: string,
  files: Readonly<Record<string, Uint8Array>>,
  signal: AbortSignal,
): Promise<void> {
  const archive = pack()
  for (const [name, content] of Object.entries(files))
    archive.entry({ name, mode: SECRET_MODE }, Buffer.from(content))
  archive.finalize()
  await engine.call('PUT', `/containers/${container}/archive`, {
    query: { path: CONFIG_PATH },
    archive: archive as unknown as Readable,
    signal,
  })
}
