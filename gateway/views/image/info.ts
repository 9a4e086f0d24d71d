import { IMPORT_METHODS, STORE } from '../../app/images/import/start-import.ts'
import type { ImageUsageOfProject } from '../../app/images/usage.ts'

/** The import methods, as clients look for them before they import. */
export function importInfoView() {
  const description = 'Import methods available.'
  return { 'import-methods': { description, type: 'array', value: [...IMPORT_METHODS] } }
}

/** The one store, shared by all gateways. */
export function storesView() {
  return { stores: [{ id: STORE, default: 'true' as const }] }
}

/** The same two facts, as headers of a created image: openstacksdk reads them there. */
export const IMPORT_HEADERS = {
  'OpenStack-image-import-methods': IMPORT_METHODS.join(','),
  'OpenStack-image-store-ids': STORE,
} as const

const MIB = 2 ** 20

/** By Glance's names of quotas; sizes in MiB, rounded down. */
export function usageView(of: ImageUsageOfProject | undefined) {
  if (of === undefined) return { usage: {} }
  const { usage, limits } = of
  const bytes = Math.floor(limits.bytes / MIB)
  return {
    usage: {
      image_size_total: { limit: bytes, usage: Math.floor(usage.bytes / MIB) },
      image_stage_total: { limit: bytes, usage: Math.floor(usage.stagedBytes / MIB) },
      image_count_total: { limit: limits.images, usage: usage.images },
      image_count_uploading: { limit: limits.images, usage: usage.uploading },
    },
  }
}
