import { readFile, rename, writeFile } from 'node:fs/promises'
import { ifAbsent } from '#common/if-absent.ts'
import { type EnrolledNode, enrolledNodes } from './enrolled-node.ts'

/** The nodes that were enrolled by the host's last run; none where there is no file. */
export async function readNodesFile(path: string): Promise<readonly EnrolledNode[]> {
  const text = await readFile(path, 'utf8').catch(ifAbsent(undefined))
  return text === undefined ? [] : enrolledNodes(text)
}

/** Afterwards the file names these nodes, or what it named before. */
export async function writeNodesFile(path: string, nodes: readonly EnrolledNode[]): Promise<void> {
  const partial = `${path}.part`
  await writeFile(partial, JSON.stringify({ nodes }, null, 2), { mode: 0o600, flush: true })
  await rename(partial, path)
}
