import { existsSync, statfsSync } from 'node:fs'
import { freemem } from 'node:os'
import { dirname } from 'node:path'
import type { Layout } from '../deployment/layout.ts'
import type { Finding } from './finding.ts'

/** The first release in which running TypeScript directly is stable. */
const NODE_MIN = [24, 12] as const
const MEMORY_WANTED_MIB = 1_024
const DISK_WANTED_GIB = 3
const BYTES_PER_MIB = 1024 ** 2
const BYTES_PER_GIB = 1024 ** 3

/** Node, memory and disk space. */
export function examineMachine({ home }: Layout): readonly Finding[] {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const isNew = major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1])
  const freeMib = Math.floor(freemem() / BYTES_PER_MIB)
  const { bavail, bsize } = statfsSync(existsSync(home) ? home : dirname(home))
  const freeGib = Math.floor((bavail * bsize) / BYTES_PER_GIB)
  return [
    enough(
      isNew,
      `Node ${process.version} at ${process.execPath}`,
      `at least ${NODE_MIN.join('.')}`,
    ),
    enough(freeMib >= MEMORY_WANTED_MIB, `${freeMib} MiB of memory free`, `${MEMORY_WANTED_MIB}`),
    enough(freeGib >= DISK_WANTED_GIB, `${freeGib} GiB of disk free`, `${DISK_WANTED_GIB}`),
  ]
}

function enough(isEnough: boolean, what: string, wanted: string): Finding {
  return isEnough ? { is: 'ok', what } : { is: 'bad', what: `${what}; wanted: ${wanted}` }
}
