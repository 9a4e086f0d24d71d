import { hash, timingSafeEqual } from 'node:crypto'

const BEARER = /^Bearer (\S+)$/i

/** The token of an `Authorization: Bearer TOKEN` header; undefined for any other. */
export function bearerOf(authorization: string | undefined): string | undefined {
  return BEARER.exec(authorization ?? '')?.[1]
}

/** True where the header has this token; takes as long for any other. */
export function isBearer(authorization: string | undefined, token: string): boolean {
  return timingSafeEqual(digest(bearerOf(authorization) ?? ''), digest(token))
}

/** Of one length, whatever the length of the text. */
function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}
