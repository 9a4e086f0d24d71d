import { redacted } from '#common/redact.ts'

const CENSOR = '[redacted]'
/** As in a URL with a password in it. */
const URL_ACCOUNT = /(:\/\/[^\s:/@]+:)[^\s@]+@/g
/** As in settings and messages: `password=…`, `token: …`. */
const ASSIGNED =
  /\b([\w-]*(?:password|passwd|secret|token|seed|private_?key)[\w-]*["']?\s*[=:]\s*)[^\s,;]+/gi
/** Private keys of the bus, and credentials as in a `.creds` file. */
const KEYS = /\bS[UAONC][A-Z2-7]{56}\b|\beyJ[\w-]+\.[\w-]+\.[\w-]+/g

/** The same text, fit for a stranger: without passwords, tokens and keys. Lines and whole texts of JSON stay JSON. */
export function redactText(text: string): string {
  const whole = redactJson(text, 2)
  if (whole !== undefined) return `${whole}\n`
  return text
    .split('\n')
    .map((line) => redactJson(line, 0) ?? redactLine(line))
    .join('\n')
}

/** Undefined for what is no JSON. */
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
  return text.replaceAll(URL_ACCOUNT, `$1${CENSOR}@`).replaceAll(KEYS, CENSOR)
}
