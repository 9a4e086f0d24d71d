import { Failure } from '#common/errors.ts'
import type { DriverName } from '#drivers/driver.ts'
import type { ChosenDriver } from '../deployment/state.ts'
import { missingPackages } from '../packages/missing-packages.ts'
import { programPath } from '../process/find-program.ts'

/** The driver asked for, or for `auto` the best this machine can run, and why. Throws `unsupported`. */
export function chooseDriver(asked: DriverName | 'auto'): ChosenDriver {
  if (asked === 'fake') return { name: 'fake', why: 'as asked; its servers are simulated' }
  const problem = libvirtProblem()
  if (problem === undefined)
    return { name: 'libvirt', why: asked === 'auto' ? 'QEMU can run here' : 'as asked' }
  if (asked === 'libvirt')
    throw new Failure('unsupported', `The libvirt driver cannot run here: ${problem}.`)
  return { name: 'fake', why: `${problem}, so its servers are simulated` }
}

/** Why no libvirt host can be started on this machine; undefined when one can. */
export function libvirtProblem(): string | undefined {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    return `guests are built for Linux on x86-64, not ${process.platform} on ${process.arch}`
  if (process.getuid?.() !== 0) return 'private libvirt hosts need root'
  const missing = missingPackages(['libvirt'])
  if (missing.length > 0 && programPath('apt-get') === undefined)
    return `not installed: ${missing.map(({ name }) => name).join(', ')}`
  return undefined
}
