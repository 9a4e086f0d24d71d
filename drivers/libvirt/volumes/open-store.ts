import type { LibvirtHost } from '../host.ts'
import { folderStore } from './folder-store.ts'
import { iscsiStore } from './iscsi/iscsi-store.ts'
import type { FoundStore } from './pools.ts'
import { rbdStore } from './rbd/rbd-store.ts'
import type { VolumeStore } from './store.ts'

/** A store of this host, by what it is. */
export function storeOn(host: LibvirtHost, store: FoundStore): VolumeStore {
  if (store.engine === 'rbd') return rbdStore(host, store)
  return store.engine === 'iscsi' ? iscsiStore(host, store) : folderStore(host, store)
}
