import { watch } from 'node:fs'
import { join } from 'node:path'
import type { Cloud } from './cloud.ts'

/** Names of the files that came to, or left, the image store of the cloud's gateways while this worked. */
export async function storeWritesDuring(
  { gateways }: Pick<Cloud, 'gateways'>,
  work: () => Promise<unknown>,
): Promise<readonly string[]> {
  const store = gateways[0]!.setting('GATEWAY_IMAGE_DIRECTORY')
  const names: string[] = []
  const watchers = ['contents', 'incoming'].map((folder) =>
    watch(join(store, folder), (_, name) => names.push(`${folder}/${name}`)),
  )
  try {
    await work()
  } finally {
    for (const each of watchers) each.close()
  }
  return names
}
