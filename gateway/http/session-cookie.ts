import type { HeaderReader } from './http-input.ts'

const NAME = 'weir_session'

/**
 * With which the page at `/ui` marks its requests. Scripts of other sites cannot send it: browsers ask for permission
 * first, which no answer here gives. Without it the cookie, which browsers send by themselves, counts for nothing.
 */
export const PAGE_HEADER = 'x-weir-page'

/** The token of the cookie, where the page itself asks; undefined otherwise. */
export function sessionToken(header: HeaderReader): string | undefined {
  if (header(PAGE_HEADER) === undefined) return undefined
  const pairs = header('cookie')?.split(';') ?? []
  // Tokens of a Keystone may have an equals sign themselves.
  return pairs
    .find((pair) => pair.trim().startsWith(`${NAME}=`))
    ?.trim()
    .slice(NAME.length + 1)
}

export interface PageSession {
  readonly token: string
  /** Absent: the cookie goes with the browser's session. */
  readonly expiresAt?: Date
}

/** The value of `Set-Cookie`, under the root URL of the endpoint alone. Without a session the cookie goes. */
export function sessionCookie(root: string, session?: PageSession): string {
  const { protocol, pathname } = new URL(root)
  const { token, expiresAt } = session ?? { token: '', expiresAt: new Date(0) }
  const until = expiresAt === undefined ? '' : `; Expires=${expiresAt.toUTCString()}`
  const secure = protocol === 'https:' ? '; Secure' : ''
  return `${NAME}=${token}; Path=${pathname}${until}; HttpOnly; SameSite=Strict${secure}`
}
