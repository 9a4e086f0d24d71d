import { run } from '../../run.ts'
import type { ImageFormat } from '../images/image-header.ts'

const TIMEOUT_MS = 60_000
/** A crafted image must not take the host with it (OSSA-2016-012): address space and CPU seconds. */
const LIMITS = ['--as=1073741824', '--cpu=30']

/** Afterwards `path` is a qcow2 disk of `sizeBytes` that shows `base` wherever nothing was written yet. */
export async function createOverlay(
  path: string,
  base: { readonly path: string; readonly format: ImageFormat },
  sizeBytes: number,
  signal: AbortSignal,
): Promise<void> {
  const backing = ['-b', base.path, '-F', base.format]
  await qemuImg(['create', '-q', '-f', 'qcow2', ...backing, path, String(sizeBytes)], signal)
}

/** Afterwards `path` is an empty qcow2 disk of `sizeBytes`. */
export async function createBlank(
  path: string,
  sizeBytes: number,
  signal: AbortSignal,
): Promise<void> {
  await qemuImg(['create', '-q', '-f', 'qcow2', path, String(sizeBytes)], signal)
}

async function qemuImg(args: readonly string[], signal: AbortSignal): Promise<void> {
  const options = { timeoutMs: TIMEOUT_MS, signal }
  await run('prlimit', [...LIMITS, '--', 'qemu-img', ...args], options)
}
