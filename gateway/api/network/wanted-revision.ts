import type { RawRequest } from '../../http/operation.ts'

/** The revision that the request is for, from `If-Match: revision_number=N`; undefined: any. Neutron ignores all else. */
export function wantedRevision({ header }: RawRequest): number | undefined {
  const text = /(?:^|,)\s*revision_number=(\d{1,9})\s*(?:,|$)/.exec(header('if-match') ?? '')?.[1]
  return text === undefined ? undefined : Number(text)
}
