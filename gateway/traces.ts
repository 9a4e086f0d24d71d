import { type EnvReader, SettingsError } from '#common/env.ts'

/** Which requests a gateway traces, and where their traces are looked at. */
export interface TraceSettings {
  /** Of the requests whose caller does not decide it, the share that is traced. */
  readonly sampleRatio: number
  /** Addresses and CIDR blocks of callers whose trace is continued, with their decision whether it is recorded. */
  readonly trustedCallers: readonly string[]
  /** With `{trace_id}` where the id belongs; undefined: no links are shown. */
  readonly pageUrl: string | undefined
}

const SAMPLE_RATIO = 0.01
const PLACE = '{trace_id}'

/** Throws `SettingsError` for a URL without a place for the id. */
export function readTraces(read: EnvReader): TraceSettings {
  const pageUrl = read.optionalText('TRACE_URL')
  if (pageUrl !== undefined && !isPageUrl(pageUrl))
    throw new SettingsError([
      `GATEWAY_TRACE_URL: ${pageUrl} is not an http(s) URL with ${PLACE} where the id of the trace belongs`,
    ])
  return {
    sampleRatio: read.number('TRACE_SAMPLE_RATIO', SAMPLE_RATIO, 0, 1),
    trustedCallers: read.list('TRACE_TRUSTED_CALLERS'),
    pageUrl,
  }
}

function isPageUrl(text: string): boolean {
  return text.includes(PLACE) && /^https?:$/.test(URL.parse(tracePage(text, '0'))?.protocol ?? '')
}

/** Where the trace with this id is looked at. */
export function tracePage(pageUrl: string, traceId: string): string {
  return pageUrl.replaceAll(PLACE, traceId)
}
