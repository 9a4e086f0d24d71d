import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  copyInto,
  copyOut,
  type DiskFile,
  type DiskTarget,
  type OpenedDisk,
  qemuImgOnDisk,
} from '../../../qemu-img.ts'
import { run } from '../../../run.ts'
import type { IscsiLogin } from './iscsi-login.ts'
import { portalText } from './iscsi-pool.ts'
import { CONTENT_AT } from './lun-label.ts'
import type { Lun } from './luns.ts'

/** QEMU's programs write so many zeros at once. */
const WIPE_BYTES = 1024 ** 3
const WIPE_MS = 4 * 3_600_000
/** What a process that has died would still write could meet another volume on the same LUN. */
const WORK = { endsWithUs: true } as const
/** A file system in memory, so that no password is on a disk. */
const MEMORY = '/dev/shm'
const SECRET = 'chap'

/** Afterwards this part of the LUN's content is zeros; a LUN that can give the room back does. */
export async function wipe(
  login: IscsiLogin,
  lun: Pick<Lun, 'number'>,
  { from, to }: { readonly from: number; readonly to: number },
  signal: AbortSignal,
): Promise<void> {
  await withPassword(login, async (secrets) => {
    const commands: string[] = []
    for (let at = from; at < to; at += WIPE_BYTES)
      commands.push('-c', `write -q -z -u ${at} ${Math.min(WIPE_BYTES, to - at)}`)
    const disk = ['--image-opts', lunOptions(login, lun, to)]
    await run('qemu-io', [...secrets, ...commands, '-c', 'flush', ...disk], {
      timeoutMs: WIPE_MS,
      signal,
      ...WORK,
    })
  })
}

/** Afterwards the LUN's content, which is zeros, is that of the disk. */
export async function fillFromDisk(
  login: IscsiLogin,
  lun: Pick<Lun, 'number'>,
  { disk, bytes }: { readonly disk: DiskFile | OpenedDisk; readonly bytes: number },
  signal: AbortSignal,
): Promise<void> {
  await withPassword(login, (secrets) =>
    copyInto(disk, lunOptions(login, lun, bytes), signal, { secrets, ...WORK }),
  )
}

/** The same with the content of another LUN of the target. No guest may write that meanwhile. */
export async function fillFromLun(
  login: IscsiLogin,
  lun: Pick<Lun, 'number'>,
  { from, bytes }: { readonly from: Pick<Lun, 'number'>; readonly bytes: number },
  signal: AbortSignal,
): Promise<void> {
  await withPassword(login, async (secrets) => {
    const source = ['--image-opts', lunOptions(login, from, bytes)]
    const target = ['--target-image-opts', lunOptions(login, lun, bytes)]
    const args = ['convert', '-q', '-n', '--target-is-zero', ...secrets, ...source, ...target]
    await qemuImgOnDisk(args, signal, WORK)
  })
}

/** Afterwards `to` has the LUN's content. No guest may write that meanwhile. */
export async function copyFromLun(
  login: IscsiLogin,
  lun: Pick<Lun, 'number'>,
  { to, bytes }: { readonly to: DiskTarget; readonly bytes: number },
  signal: AbortSignal,
): Promise<void> {
  await withPassword(login, (secrets) =>
    copyOut(lunOptions(login, lun, bytes), to, signal, { secrets }),
  )
}

/** The content of a LUN as QEMU's programs open it; in its options a comma stands twice. */
function lunOptions(
  { portal, target, initiator, chap }: IscsiLogin,
  { number }: Pick<Lun, 'number'>,
  bytes: number,
): string {
  const options = {
    driver: 'raw',
    offset: String(CONTENT_AT),
    size: String(bytes),
    'file.driver': 'iscsi',
    'file.transport': 'tcp',
    'file.portal': portalText(portal),
    'file.target': target,
    'file.lun': String(number),
    'file.initiator-name': initiator,
    ...(chap !== undefined && { 'file.user': chap.user, 'file.password-secret': SECRET }),
  }
  return Object.entries(options)
    .map(([name, value]) => `${name}=${value.replaceAll(',', ',,')}`)
    .join(',')
}

/** Does the work with QEMU's options for the password of the target. Afterwards no file has it. */
async function withPassword(
  { chap }: IscsiLogin,
  work: (secrets: readonly string[]) => Promise<void>,
): Promise<void> {
  if (chap === undefined) return work([])
  const folder = await mkdtemp(join(MEMORY, 'weir-chap-'))
  try {
    const file = join(folder, SECRET)
    await writeFile(file, chap.password, { mode: 0o600 })
    await work(['--object', `secret,id=${SECRET},file=${file}`])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
