import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from './client.ts'
import { SERVERS } from './servers.ts'
import { BLOCK_STORAGE } from './volumes.ts'

/** Each is refused while one before it is there. */
const COLLECTIONS = [
  ['servers', SERVERS],
  ['snapshots', `${BLOCK_STORAGE}/snapshots`],
  ['volumes', `${BLOCK_STORAGE}/volumes`],
] as const

/** Afterwards the client's project has no server, snapshot or volume. What is in the middle of something is waited for. */
export async function emptyProject(client: ApiClient, limitMs: number): Promise<void> {
  let left: readonly string[] = []
  const isEmpty = async () => {
    left = []
    for (const [field, path] of COLLECTIONS) {
      const { body } = await client.get<Readonly<Record<string, { readonly id: string }[]>>>(path)
      for (const { id } of body[field] ?? []) {
        left = [...left, `${field} ${id}`]
        await client.delete(`${path}/${id}`)
      }
    }
    return left.length === 0
  }
  await waitFor('the project to be empty', isEmpty, limitMs).catch((cause: unknown) => {
    throw new Error(`Still there: ${left.join(', ')}`, { cause })
  })
}
