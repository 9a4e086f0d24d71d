// What several views are made of.
import { h } from 'preact'
import { useCallback, useEffect, useState } from 'preact/hooks'

/**
 * What `load` resolves with, again when `keys` change and every `everyMs` while the page is seen. An error leaves the last
 * value, and is shown beside it.
 */
export function useData(load, keys, everyMs) {
  const [state, setState] = useState({})
  const [round, setRound] = useState(0)
  useEffect(() => setState({}), keys)
  useEffect(() => {
    const aborter = new AbortController()
    let timer
    const again = () => {
      if (document.hidden) timer = setTimeout(again, everyMs)
      else void run()
    }
    const run = async () => {
      try {
        const value = await load(aborter.signal)
        if (!aborter.signal.aborted) setState({ value })
      } catch (error) {
        if (!aborter.signal.aborted) setState((before) => ({ ...before, error }))
      }
      if (everyMs !== undefined && !aborter.signal.aborted) timer = setTimeout(again, everyMs)
    }
    void run()
    return () => {
      aborter.abort()
      clearTimeout(timer)
    }
  }, [...keys, round])
  const reload = useCallback(() => setRound((before) => before + 1), [])
  return { ...state, reload }
}

/** The heading of a view, which keyboards and screen readers are taken to. */
export function Heading({ children }) {
  const take = useCallback((element) => element?.focus(), [])
  useEffect(() => {
    document.title = `${children} – Weir`
  }, [children])
  return h('h1', { tabIndex: -1, ref: take }, children)
}

export function Problem({ error }) {
  return error === undefined ? null : h('p', { class: 'problem', role: 'alert' }, error.message)
}

/** The value of `data` in `show`, its error, or that it is being loaded. */
export function Loaded({ data, show }) {
  return [
    h(Problem, { error: data.error }),
    data.value !== undefined ? show(data.value) : data.error === undefined && h('p', { role: 'status' }, 'Loading …'),
  ]
}

const GOOD = new Set(['ACTIVE', 'active', 'up', 'ok', 'done', 'success', 'completed', 'available', 'in-use'])
const BAD = new Set(['ERROR', 'down', 'failed', 'error', 'error_deleting', 'unreachable'])

export const kindOf = (state) => (GOOD.has(state) ? 'good' : BAD.has(state) ? 'bad' : 'other')

export function State({ children }) {
  return h('span', { class: `state ${kindOf(children)}` }, children)
}

/** `columns`: [heading, cell of a row][]. */
export function Table({ caption, columns, rows, none }) {
  if (rows.length === 0) return h('p', null, none)
  return h(
    'div',
    { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': caption },
    h(
      'table',
      null,
      h('caption', null, caption),
      h('thead', null, h('tr', null, columns.map(([heading]) => h('th', { scope: 'col' }, heading)))),
      h(
        'tbody',
        null,
        rows.map((row) => h('tr', { key: row.id ?? row.name }, columns.map(([, cell]) => h('td', null, cell(row))))),
      ),
    ),
  )
}

/** `facts`: [name, value][]; those without a value are left out. */
export function Facts({ facts }) {
  const known = facts.filter(([, value]) => value !== undefined && value !== null && value.length !== 0)
  return h('dl', { class: 'facts' }, known.map(([name, value]) => h('div', { key: name }, h('dt', null, name), h('dd', null, value))))
}

export function Pages({ cursors, setCursors, next }) {
  return h(
    'nav',
    { 'aria-label': 'Pages', class: 'pages' },
    h('button', { type: 'button', disabled: cursors.length === 0, onClick: () => setCursors(cursors.slice(0, -1)) }, 'Before'),
    ` Page ${cursors.length + 1} `,
    h('button', { type: 'button', disabled: next === null, onClick: () => setCursors([...cursors, next]) }, 'After'),
  )
}

/** How much of something is used, or done; amounts in the unit that is named. Where little is left, it warns. */
export function Bar({ label, used, total, unit = '', isProgress = false }) {
  const share = total > 0 ? Math.min(1, used / total) : 0
  return h(
    'div',
    { class: 'bar' },
    h('span', null, label),
    h('meter', { min: 0, max: 1, value: share, high: isProgress ? 1 : 0.9, 'aria-label': label }),
    h('span', null, `${used} of ${total}${unit}`),
  )
}

/** Buttons, and the commands that do the same. */
export function Acts({ acts }) {
  if (acts.length === 0) return null
  return h(
    'div',
    { class: 'acts' },
    acts.map((each) => h(Act, { key: each.label, ...each })),
    h('details', null, h('summary', null, 'From the command line'), h('ul', null, acts.map(({ command }) => h('li', { key: command }, h(Command, null, command))))),
  )
}

/** Does something after a click. `ask`: a question that is answered first. */
function Act({ label, act, ask, isDangerous }) {
  const [state, setState] = useState({})
  const run = async () => {
    if (ask !== undefined && !confirm(ask)) return
    setState({ isBusy: true })
    try {
      await act()
      setState({})
    } catch (error) {
      setState({ error })
    }
  }
  return h(
    'span',
    null,
    h('button', { type: 'button', disabled: state.isBusy, class: isDangerous ? 'danger' : undefined, onClick: run }, label),
    h(Problem, { error: state.error }),
  )
}

/** A command line, with a button that copies it. */
export function Command({ children }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(children)
    setCopied(true)
    setTimeout(() => setCopied(false), 2_000)
  }
  return h(
    'span',
    { class: 'command' },
    h('code', null, children),
    // Browsers give it to secure pages only.
    navigator.clipboard !== undefined &&
      h('button', { type: 'button', onClick: copy, 'aria-label': `Copy: ${children}` }, isCopied ? 'Copied' : 'Copy'),
  )
}

const UNITS = [['day', 86_400], ['hour', 3_600], ['minute', 60], ['second', 1]]
const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

export const NUMBER = new Intl.NumberFormat('en')

/** A time, relative to now; exactly where one points at it. */
export function Time({ at }) {
  if (at === null || at === undefined) return 'never'
  const seconds = (Date.parse(at) - Date.now()) / 1_000
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? UNITS.at(-1)
  return h('time', { dateTime: at, title: at }, RELATIVE.format(Math.trunc(seconds / size), unit))
}

export const link = (href, text) => h('a', { href }, text)
export const path = (...parts) => `#/${parts.map(encodeURIComponent).join('/')}`
export const serverLink = (id, name) => link(path('servers', id), name || id)
/** `2 servers`, `1 server`. */
export const counted = (count, what) => `${NUMBER.format(count)} ${what}${count === 1 ? '' : 's'}`
export const gib = (mib) => Math.round(mib / 1_024)
/** A word for the shell. */
export const word = (text) => (/^[\w.:/@=,+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`)
