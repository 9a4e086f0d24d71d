import { existsSync } from 'node:fs'
import { probeVirtType, type VirtTypeVerdict } from '#drivers/libvirt/virt-type.ts'
import { builtKernel } from '../guest/build-guest-image.ts'
import { runTool } from '../packages/run-tool.ts'
import { guestDirectory } from '../paths.ts'
import { programPath } from '../process/find-program.ts'

const QEMU = 'qemu-system-x86_64'
const VERSION_LIMIT_MS = 10_000
const PROBE_LIMIT_MS = 60_000

/**
 * How guests run on this machine, found out by starting one under KVM, once: the verdict is kept beside the guest.
 * Undefined while QEMU or the guest's kernel is not there yet.
 */
export async function machineVirtType(): Promise<VirtTypeVerdict | undefined> {
  const kernel = await builtKernel(guestDirectory)
  if (!existsSync(kernel) || programPath(QEMU) === undefined) return undefined
  const qemuVersion = (await runTool(QEMU, ['--version'], { limitMs: VERSION_LIMIT_MS })).trim()
  const options = { stateDirectory: guestDirectory, qemuVersion, kernel }
  return probeVirtType(options, AbortSignal.timeout(PROBE_LIMIT_MS))
}
