import { redacted } from '#common/redact.ts'

const CENSOR = '[redacted]'
/** As in a URL with a password in it. The end is optional, so that a text without one is passed over and not searched again. */
const URL_ACCOUNT = /(:\/\/[^\s:/@]+:)[^\s@]+(@?)/g
/** As in settings and messages: `password=…`, `token: …`. */
const ASSIGNED =
  /((?:password|passwd|secret|token|seed|private_?key)[\w-]{0,64}["']?\s{0,8}[=:]\s{0,8})[^\s,;]+/gi
/** Private keys of the bus, and credentials as in a `.creds` file. */
const KEYS = /\bS[UAONC][A-Z2-7]{56}\b|\beyJ[\w.-]+/g

/** The same text, fit for a stranger: without passwords, tokens and keys. Lines and whole texts of JSON stay JSON. */
export function redactText(text: string): string {
  const whole = redactJson(text, 2)
  if (whole !== undefined) return `${whole}\n`
  return text
    .split('\n')
    .map((line) => redactJson(line, 0) ?? redactLine(line))
    .join('\n')
}

/** Undefined for text that is not JSON. */
function redactJson(text: string, indent: number): string | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    return redactKeys(JSON.stringify(redacted(JSON.parse(text)), null, indent))
  } catch {
    return undefined
  }
}

function redactLine(line: string): string {
  return redactKeys(line.replaceAll(ASSIGNED, `$1${CENSOR}`))
}

function redactKeys(text: string): string {
  const withoutAccounts = text.replaceAll(URL_ACCOUNT, (whole, before: string, end: string) =>
    end === '' ? whole : `${before}${CENSOR}${end}`,
  )
  return withoutAccounts.replaceAll(KEYS, CENSOR)
}
