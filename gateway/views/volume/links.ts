import type { Links } from '../../http/links.ts'
import type { ViewLink } from '../links.ts'

/** Cinder's two links to a thing: versioned and permanent. `path` is such as `/messages/1`. */
export function volumeLinks(links: Links, path: string): readonly ViewLink[] {
  return [
    { rel: 'self', href: links.to(`/volume/v3${path}`) },
    { rel: 'bookmark', href: links.to(`/volume${path}`) },
  ]
}
