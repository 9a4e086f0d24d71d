import type { HostCopy, UnreachableHost } from '../../app/federation/image-copies.ts'

/** A host's copy of an image as the federation API shows it. */
export function imageCopyView({ cell, host, name, sizeBytes }: HostCopy) {
  return {
    cell_id: cell.id,
    cell: cell.name,
    ...hostNames(host),
    name,
    size_bytes: sizeBytes,
  }
}

export function unreachableHostView({ host, reason }: UnreachableHost) {
  return { ...hostNames(host), reason }
}

function hostNames({ view }: HostCopy['host']) {
  return { host_id: view.hostId, host: view.name }
}
