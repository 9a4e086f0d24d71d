import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { InstanceId } from '#common/ids.ts'
import { ifAbsent } from '#common/if-absent.ts'
import type { MachineParts } from '../../nodes.ts'
import type { NodeState } from './node-states.ts'

/** The record of a node, which outlives the process. */
export interface NodeRecord {
  readonly version: 1
  readonly state: NodeState
  /** Whose server has the node. */
  readonly instance: InstanceId | null
  /** As last seen, or as last asked where people switch it. */
  readonly isOn: boolean
  /** What inspection found; null before. */
  readonly parts: MachineParts | null
  /** Why the last work on it failed; null when it did not. */
  readonly failure: string | null
}

export const NEW_NODE: NodeRecord = {
  version: 1,
  state: 'enrolled',
  instance: null,
  isOn: false,
  parts: null,
  failure: null,
}

/** Afterwards the record is on disk, whole. */
export async function writeNodeRecord(path: string, record: NodeRecord): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const partial = `${path}.part`
  await writeFile(partial, JSON.stringify(record), { mode: 0o600, flush: true })
  await rename(partial, path)
}

/** The record; a new one for a node that was never seen. */
export async function readNodeRecord(path: string): Promise<NodeRecord> {
  const text = await readFile(path, 'utf8').catch(ifAbsent(undefined))
  return text === undefined ? NEW_NODE : (JSON.parse(text) as NodeRecord)
}
