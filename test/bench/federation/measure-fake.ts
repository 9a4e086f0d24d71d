import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { projectRoot } from '#deploy/paths.ts'

/** What many servers on simulated hosts cost the one process they are in. */
export interface FakeFigures {
  readonly hosts: number
  readonly servers: number
  readonly spawnUs: number
  /** Of the process with them less without. */
  readonly bytesPerServer: number
  /** To look at all of them once, as every compute does every ten seconds. */
  readonly roundMs: number
}

/** Measured in a process of its own. */
export async function measureFake(): Promise<FakeFigures> {
  const script = 'test/bench/federation/fake-hosts.ts'
  const args = ['--expose-gc', script]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: projectRoot })
  return JSON.parse(stdout) as FakeFigures
}
