import { constants } from 'node:fs'
import { access, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { release, tmpdir } from 'node:os'
import { join } from 'node:path'
import { isFailure } from '#common/errors.ts'
import { run } from '../run.ts'
import type { VirtType } from './domains/domain-xml.ts'

const KVM_DEVICE = '/dev/kvm'
/** A kernel that runs natively is through in about a second. */
const PROBE_TIMEOUT_MS = 8_000
/** The message of Linux when it has booted and finds no root file system. */
const PROOF = 'VFS: Unable to mount root fs'

export interface VirtTypeVerdict {
  readonly virtType: VirtType
  /** For people: what was found that makes it so. */
  readonly why: string
}

export interface ProbeOptions {
  /** Where the verdict is kept, so that a restart costs nothing. */
  readonly stateDirectory: string
  /** In any form: another one makes the verdict void. */
  readonly qemuVersion: string
  /** A Linux kernel to start; without one the newest in /boot, and without that nothing can be proven. */
  readonly kernel?: string | undefined
}

/**
 * `kvm` if a Linux test guest boots with it, otherwise `qemu`. The device and libvirt's capabilities are not proof: a
 * nested or software KVM may accept guests that then never get past their boot loader.
 */
export async function probeVirtType(
  options: ProbeOptions,
  signal: AbortSignal,
): Promise<VirtTypeVerdict> {
  const usable = await access(KVM_DEVICE, constants.R_OK | constants.W_OK).then(
    () => true,
    () => false,
  )
  const kernel = options.kernel ?? (await newestBootKernel())
  if (!usable) return { virtType: 'qemu', why: `${KVM_DEVICE} cannot be used` }
  if (kernel === undefined)
    return { virtType: 'qemu', why: 'there is no kernel to try whether KVM really runs guests' }
  const file = join(options.stateDirectory, 'virt-type.json')
  const key = `${release()} qemu ${options.qemuVersion}`
  const known = await readVerdict(file)
  if (known?.key === key) return known.verdict
  const verdict: VirtTypeVerdict = (await kernelRuns(kernel, signal))
    ? { virtType: 'kvm', why: 'a Linux kernel started under KVM' }
    : { virtType: 'qemu', why: `${KVM_DEVICE} is there, but a Linux kernel did not start under it` }
  await writeFile(file, JSON.stringify({ key, verdict } satisfies StoredVerdict))
  return verdict
}

interface StoredVerdict {
  readonly key: string
  readonly verdict: VirtTypeVerdict
}

async function readVerdict(file: string): Promise<StoredVerdict | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as StoredVerdict
  } catch {
    return undefined // None yet, or cut off by a crash: the probe runs again.
  }
}

/** The kernel panics for want of a root file system, and QEMU ends by itself, where KVM works. */
async function kernelRuns(kernel: string, signal: AbortSignal): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-kvm-probe-'))
  const log = join(folder, 'serial.log')
  const machine = ['-machine', 'pc', '-accel', 'kvm', '-m', '256', '-nodefaults', '-no-reboot']
  const output = ['-display', 'none', '-serial', `file:${log}`]
  const boot = ['-kernel', kernel, '-append', 'console=ttyS0 panic=-1']
  try {
    await run('qemu-system-x86_64', [...machine, ...output, ...boot], {
      timeoutMs: PROBE_TIMEOUT_MS,
      signal,
    }).catch((error: unknown) => {
      if (!isFailure(error)) throw error
    })
    return (await readFile(log, 'utf8').catch(() => '')).includes(PROOF)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function newestBootKernel(): Promise<string | undefined> {
  const names = await readdir('/boot').catch(() => [])
  const kernels = names.filter((name) => name.startsWith('vmlinuz-'))
  const newest = kernels.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1)
  return newest === undefined ? undefined : join('/boot', newest)
}
