import type { Resources } from '../../cell-client/cell.ts'

/** Memory in MiB, disk in GiB. */
export function resources({ vcpus, memoryMb, diskGb }: Resources) {
  return { vcpus, memory_mb: memoryMb, disk_gb: diskGb }
}
