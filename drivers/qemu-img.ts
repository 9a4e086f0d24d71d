import type { ImageFormat } from './image-header.ts'
import { run } from './run.ts'

const TIMEOUT_MS = 60_000
/** A crafted image must not take the host with it (OSSA-2016-012): address space and CPU seconds. */
const LIMITS = ['--as=1073741824', '--cpu=30']
/** A whole disk takes as long as its host's storage. */
const LIMITS_OF_COPY = ['--as=2147483648', '--cpu=3600']
const COPY_TIMEOUT_MS = 4 * 3_600_000

export interface DiskFile {
  readonly path: string
  readonly format: ImageFormat
}

/** A disk that is there, by QEMU's own options (`--image-opts`), and the options of the secrets that they name. */
export interface OpenedDisk {
  readonly options: string
  readonly secrets: readonly string[]
}

/** Where a copy goes: a file that is not there yet, or a disk, to which what is empty is written as well. */
export type DiskTarget = DiskFile | OpenedDisk

function targetArgs(to: DiskTarget): readonly string[] {
  if (!('options' in to)) return ['-O', to.format, to.path]
  return ['-n', ...to.secrets, '--target-image-opts', to.options]
}

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

/** Afterwards the overlay at `path` shows `base`, which must be what it showed before. Its former base is not read. */
export async function rebase(
  path: string,
  base: { readonly path: string; readonly format: ImageFormat },
  signal: AbortSignal,
): Promise<void> {
  const backing = ['-b', base.path, '-F', base.format]
  await qemuImg(['rebase', '-q', '-u', '-f', 'qcow2', ...backing, path], signal)
}

/** Afterwards the qcow2 file at `path` has what it has itself, and shows zeros elsewhere. Its former base is not read. */
export async function removeBacking(path: string, signal: AbortSignal): Promise<void> {
  await qemuImg(['rebase', '-q', '-u', '-f', 'qcow2', '-b', '', path], signal)
}

/** Afterwards `path` is an empty qcow2 disk of `sizeBytes`. */
export async function createBlank(
  path: string,
  sizeBytes: number,
  signal: AbortSignal,
): Promise<void> {
  await qemuImg(['create', '-q', '-f', 'qcow2', path, String(sizeBytes)], signal)
}

/** Afterwards the qcow2 disk at `path` has `sizeBytes`, at least as many as before. */
export async function growDisk(
  path: string,
  sizeBytes: number,
  signal: AbortSignal,
): Promise<void> {
  await qemuImg(['resize', '-q', '-f', 'qcow2', path, String(sizeBytes)], signal)
}

/**
 * Afterwards `to` is a qcow2 disk with the content of `from` that needs no other file. `from` must not be written
 * meanwhile.
 */
export async function copyWhole(from: string, to: string, signal: AbortSignal): Promise<void> {
  const args = ['convert', '-q', '-f', 'qcow2', '-O', 'qcow2', from, to]
  await qemuImgOnDisk(args, signal)
}

/**
 * Afterwards `to` shows the disk in the file `from`, without room for what is empty; a raw one holds it byte by byte. QEMU
 * refuses a file that a guest may write meanwhile.
 */
export async function copyDisk(from: DiskFile, to: DiskTarget, signal: AbortSignal): Promise<void> {
  const args = ['convert', '-q', '-f', from.format, from.path, ...targetArgs(to)]
  await qemuImgOnDisk(args, signal)
}

/** How a program works on a disk that is given by QEMU's own options. */
export interface DiskWork {
  /** QEMU's options for the secrets that the disk's options name; absent: none. */
  readonly secrets?: readonly string[]
  /** As of `run`. */
  readonly endsWithUs?: true
}

/** The same where `to` is a disk that is there and empty, by QEMU's own options (`--image-opts`). */
export async function copyInto(
  from: DiskFile | OpenedDisk,
  to: string,
  signal: AbortSignal,
  { secrets = [], ...how }: DiskWork = {},
): Promise<void> {
  const source =
    'options' in from
      ? [...from.secrets, '--image-opts', from.options]
      : ['-f', from.format, from.path]
  const args = ['convert', '-q', '-n', '--target-is-zero', ...source]
  const target = [...secrets, '--target-image-opts', to]
  await qemuImgOnDisk([...args, ...target], signal, how)
}

/** The same where `from` names a disk by QEMU's own options. No program may write the disk meanwhile. */
export async function copyOut(
  from: string,
  to: DiskTarget,
  signal: AbortSignal,
  { secrets = [], ...how }: DiskWork = {},
): Promise<void> {
  const args = ['convert', '-q', ...secrets, '--image-opts', from, ...targetArgs(to)]
  await qemuImgOnDisk(args, signal, how)
}

/** Runs qemu-img on a whole disk. */
export async function qemuImgOnDisk(
  args: readonly string[],
  signal: AbortSignal,
  how: Pick<DiskWork, 'endsWithUs'> = {},
): Promise<void> {
  await qemuImg(args, signal, { limits: LIMITS_OF_COPY, timeoutMs: COPY_TIMEOUT_MS, ...how })
}

/** A bitmap in a qcow2 disk, which notes what is written. */
export interface DiskBitmap {
  readonly name: string
  /** A program is writing it, or has ended without having written it down. */
  readonly isInUse: boolean
}

/** The bitmaps of a qcow2 disk that no program has open. */
export async function bitmapsOf(path: string, signal: AbortSignal): Promise<readonly DiskBitmap[]> {
  const text = await qemuImg(['info', '--output=json', '-f', 'qcow2', path], signal)
  const info = JSON.parse(text) as {
    readonly 'format-specific'?: {
      readonly data?: {
        readonly bitmaps?: readonly { readonly name: string; readonly flags: readonly string[] }[]
      }
    }
  }
  const bitmaps = info['format-specific']?.data?.bitmaps ?? []
  return bitmaps.map(({ name, flags }) => ({ name, isInUse: flags.includes('in-use') }))
}

/** Afterwards programs note in the bitmap of the qcow2 disk what they write. No program may have the disk open. */
export async function addBitmap(path: string, name: string, signal: AbortSignal): Promise<void> {
  await qemuImg(['bitmap', '--add', '-f', 'qcow2', path, name], signal)
}

/** Afterwards the qcow2 disk does not have the bitmap. No program may have the disk open. */
export async function removeBitmap(path: string, name: string, signal: AbortSignal): Promise<void> {
  await qemuImg(['bitmap', '--remove', '-f', 'qcow2', path, name], signal)
}

interface Bounds extends Pick<DiskWork, 'endsWithUs'> {
  readonly limits: readonly string[]
  readonly timeoutMs: number
}

async function qemuImg(
  args: readonly string[],
  signal: AbortSignal,
  { limits, ...how }: Bounds = { limits: LIMITS, timeoutMs: TIMEOUT_MS },
): Promise<string> {
  return (await run('prlimit', [...limits, '--', 'qemu-img', ...args], { ...how, signal })).stdout
}
