import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { RunningLibvirtHost } from '#deploy/libvirt-host/libvirt-host.ts'

const PROGRAM_MS = 60_000
/** The root disk of a guest, as QEMU calls the device. */
const DISK = '/machine/peripheral/virtio-disk0/virtio-backend'
const program = promisify(execFile)

/** The SHA-256 of what a guest would read from a disk, whatever the format of its file. */
export async function checksum(file: string): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'weir-sum-'))
  const raw = join(directory, 'raw')
  try {
    await program('qemu-img', ['convert', '-O', 'raw', file, raw], { timeout: PROGRAM_MS })
    const { stdout } = await program('sha256sum', [raw], { timeout: PROGRAM_MS })
    return stdout.split(' ')[0]!
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** Has the guest of a server, which runs, write one byte over and over. False once it does not run any more. */
export async function guestWrites(
  libvirt: RunningLibvirtHost,
  serverId: string,
  { pattern, where }: { readonly pattern: number; readonly where: string },
): Promise<boolean> {
  const ask = ['qemu-monitor-command', `weir-${serverId}`, '--hmp']
  const command = `qemu-io -d ${DISK} "write -P ${pattern} ${where}"`
  // The monitor says nothing of a write that was done.
  const { stdout } = await libvirt
    .run('virsh', [...ask, command], { timeoutMs: 20_000 })
    .catch((error: Error) => ({ stdout: error.message }))
  return stdout.trim() === ''
}
