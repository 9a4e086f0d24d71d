import { accessSync, constants, existsSync, statfsSync } from 'node:fs'
import { freemem } from 'node:os'
import { dirname } from 'node:path'
import { layoutIn } from '../deployment/layout.ts'
import { loadState } from '../deployment/state.ts'
import { libvirtProblem } from '../hypervisors/choose-driver.ts'
import { missingPackages } from '../packages/missing-packages.ts'
import type { Purpose } from '../packages/packages.ts'
import { processStates } from './process-states.ts'

export interface Finding {
  readonly isWell: boolean
  /** What was looked at, and for what is not well what to do. */
  readonly what: string
}

const MEMORY_WANTED_MB = 1_024
const DISK_WANTED_GB = 3
const BYTES_PER_MIB = 1024 ** 2
const BYTES_PER_GIB = 1024 ** 3

/** Everything that decides whether a deployment can run on this machine. */
export function examine(): readonly Finding[] {
  return [
    { isWell: true, what: `Node ${process.version} at ${process.execPath}` },
    packages('base', 'MariaDB and NATS'),
    packages('libvirt', 'libvirt, QEMU and what guests are built from'),
    packages('clients', 'the openstack command'),
    hypervisor(),
    ...resources(),
    deployment(),
  ]
}

function packages(purpose: Purpose, what: string): Finding {
  const names = missingPackages([purpose]).map(({ name }) => name)
  if (names.length === 0) return { isWell: true, what: `${what}: installed` }
  return { isWell: false, what: `${what}: missing ${names.join(' ')}` }
}

function hypervisor(): Finding {
  const problem = libvirtProblem()
  if (problem !== undefined)
    return { isWell: false, what: `only simulated servers, because ${problem}` }
  const kvm = isUsable('/dev/kvm')
    ? '/dev/kvm is there; whether guests run under it is tried when a host starts'
    : 'no /dev/kvm, so guests are emulated'
  return { isWell: true, what: `real servers through libvirt; ${kvm}` }
}

function resources(): readonly Finding[] {
  const { home } = layoutIn()
  const freeMb = Math.floor(freemem() / BYTES_PER_MIB)
  const { bavail, bsize } = statfsSync(existsSync(home) ? home : dirname(home))
  const freeGb = Math.floor((bavail * bsize) / BYTES_PER_GIB)
  return [
    {
      isWell: freeMb >= MEMORY_WANTED_MB,
      what: `${freeMb} MiB of memory free (${MEMORY_WANTED_MB} wanted)`,
    },
    {
      isWell: freeGb >= DISK_WANTED_GB,
      what: `${freeGb} GiB of disk free (${DISK_WANTED_GB} wanted)`,
    },
  ]
}

function deployment(): Finding {
  const layout = layoutIn()
  const state = loadState(layout)
  if (state === undefined) return { isWell: true, what: 'nothing deployed yet: ./weir up' }
  const dead = processStates(layout, state).filter(({ isAlive }) => !isAlive)
  if (dead.length === 0) return { isWell: true, what: 'every process of the deployment runs' }
  const names = dead.map(({ name }) => name).join(', ')
  return { isWell: false, what: `not running: ${names} (./weir up starts them)` }
}

function isUsable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    return true
  } catch {
    return false
  }
}
