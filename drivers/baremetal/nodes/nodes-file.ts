import { readFile, rename, writeFile } from 'node:fs/promises'
import { type EnrolledNode, enrolledNodes } from './enrolled-node.ts'

/** The nodes that were enrolled by the host's last run; none where there is no file. */
export async function readNodesFile(path: string): Promise<readonly EnrolledNode[]> {
  try {
    return enrolledNodes(await readFile(path, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** Afterwards the file names these nodes, or what it named before. */
export async function writeNodesFile(path: string, nodes: readonly EnrolledNode[]): Promise<void> {
  const partial = `${path}.part`
  await writeFile(partial, JSON.stringify({ nodes }, null, 2), { mode: 0o600, flush: true })
  await rename(partial, path)
}
