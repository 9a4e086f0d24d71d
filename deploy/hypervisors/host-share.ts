import { statfsSync } from 'node:fs'
import { availableParallelism, totalmem } from 'node:os'
import type { LaunchedDriver } from './launched-driver.ts'

/** The resources that one private host may offer its guests. */
export interface HostShare {
  readonly vcpus: number
  readonly memoryMb: number
  readonly diskGb: number
}

const BYTES_PER_MIB = 1024 ** 2
const BYTES_PER_GIB = 1024 ** 3
/** The rest of the machine stays for the machine, and for Weir. */
const PART_OF_MEMORY = 0.5
const PART_OF_DISK = 0.5

/**
 * For each of `hosts` all CPUs, which their guests share by time, and of which no server gets more than its host has; and an
 * equal part of half the memory, and of half the free disk under `directory`.
 */
export function hostShare(hosts: number, directory: string): HostShare {
  const { bavail, bsize } = statfsSync(directory)
  const part = (amount: number) => Math.max(1, Math.floor(amount / hosts))
  return {
    vcpus: availableParallelism(),
    memoryMb: part((totalmem() * PART_OF_MEMORY) / BYTES_PER_MIB),
    diskGb: part((bavail * bsize * PART_OF_DISK) / BYTES_PER_GIB),
  }
}

/** True for a driver whose servers run on this machine. */
export function sharesMachine({ name }: { readonly name: LaunchedDriver }): boolean {
  return name !== 'fake' && name !== 'baremetal'
}

/** As drivers read it from their settings. */
export function shareSettings(share: HostShare): Readonly<Record<string, string>> {
  const { vcpus, memoryMb, diskGb } = share
  return { vcpus: String(vcpus), memory_mb: String(memoryMb), disk_gb: String(diskGb) }
}

/** For people. */
export function describeShare({ vcpus, memoryMb, diskGb }: HostShare): string {
  return `${vcpus} vCPU, ${memoryMb} MiB, ${diskGb} GB`
}
