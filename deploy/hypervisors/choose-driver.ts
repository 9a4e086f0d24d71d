import { Failure } from '#common/errors.ts'
import type { ChosenDriver } from '../deployment/state.ts'
import { missingPackages } from '../packages/missing-packages.ts'
import type { Purpose } from '../packages/packages.ts'
import { programPath } from '../process/find-program.ts'
import type { LaunchedDriver } from './launched-driver.ts'

/** The requested driver, or for `auto` the best that this machine can run, and the reason. Throws `unsupported`. */
export function chooseDriver(asked: LaunchedDriver | 'auto'): ChosenDriver {
  if (asked === 'fake') return { name: 'fake', why: 'as requested; its servers are simulated' }
  if (asked !== 'auto') {
    const problem = PROBLEMS[asked]()
    if (problem === undefined) return { name: asked, why: 'as requested' }
    throw new Failure('unsupported', `The ${asked} driver cannot run here: ${problem}.`)
  }
  const problem = libvirtProblem()
  return problem === undefined
    ? { name: 'libvirt', why: 'QEMU can run here' }
    : { name: 'fake', why: `${problem}, so its servers are simulated` }
}

const PROBLEMS = {
  baremetal: baremetalProblem,
  docker: dockerProblem,
  libvirt: libvirtProblem,
} as const

/** Why no libvirt host can be started on this machine; undefined when one can. */
export function libvirtProblem(): string | undefined {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    return `guests are built for Linux on x86-64, not ${process.platform} on ${process.arch}`
  if (process.getuid?.() !== 0) return 'private libvirt hosts need root'
  return packageProblem('libvirt')
}

function baremetalProblem(): string | undefined {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    return `the ramdisk is built for Linux on x86-64, not ${process.platform} on ${process.arch}`
  return packageProblem('baremetal')
}

function dockerProblem(): string | undefined {
  if (process.platform !== 'linux') return `containers are of Linux, not ${process.platform}`
  if (process.getuid?.() !== 0) return 'private Docker engines need root'
  return packageProblem('docker')
}

function packageProblem(purpose: Purpose): string | undefined {
  const missing = missingPackages([purpose])
  if (missing.length > 0 && programPath('apt-get') === undefined)
    return `not installed: ${missing.map(({ name }) => name).join(', ')}`
  return undefined
}
