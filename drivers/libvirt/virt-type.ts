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
/** What Linux says when all of it has started and it finds no root file system. */
const PROOF = 'VFS: Unable to mount root fs'

interface Verdict {
  readonly key: string
  readonly virtType: VirtType
}

export interface ProbeOptions {
  /** Where the verdict is kept, so that a restart costs nothing. */
  readonly stateDirectory: string
  readonly qemuVersion: number
  /** A Linux kernel to start; without one the newest in /boot, and without that nothing can be proven. */
  readonly kernel?: string | undefined
}

/**
 * `kvm` where a Linux guest has been seen to run under it, else `qemu`. The device and libvirt's capabilities are
 * not proof: a nested or software KVM may take guests that then never get past their boot loader.
 */
export async function probeVirtType(options: ProbeOptions, signal: AbortSignal): Promise<VirtType> {
  const usable = await access(KVM_DEVICE, constants.R_OK | constants.W_OK).then(
    () => true,
    () => false,
  )
  const kernel = options.kernel ?? (await newestBootKernel())
  if (!usable || kernel === undefined) return 'qemu'
  const file = join(options.stateDirectory, 'virt-type.json')
  const key = `${release()} qemu ${options.qemuVersion}`
  const known = await readVerdict(file)
  if (known?.key === key) return known.virtType
  const virtType = (await kernelRuns(kernel, signal)) ? 'kvm' : 'qemu'
  await writeFile(file, JSON.stringify({ key, virtType } satisfies Verdict))
  return virtType
}

async function readVerdict(file: string): Promise<Verdict | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Verdict
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
