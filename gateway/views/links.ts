import type { Links } from '../http/links.ts'

export interface ViewLink {
  readonly rel: 'self' | 'bookmark'
  readonly href: string
}

/** Nova's two links to a thing: versioned and permanent. `path` is such as `/flavors/1`. */
export function resourceLinks(links: Links, path: string): readonly ViewLink[] {
  return [
    { rel: 'self', href: links.to(`/compute/v2.1${path}`) },
    { rel: 'bookmark', href: links.to(`/compute${path}`) },
  ]
}
