import { waitFor } from '#common/wait-for.ts'
import type { Account } from './api/client.ts'
import type { Browser } from './browser.ts'

const LIMIT_MS = 60_000

/** A text, one of a select's values, a tick, or the values of the boxes that are ticked. */
export type Field = string | boolean | readonly string[]

/** A page of Horizon as its server sends it. */
export interface Shown {
  readonly path: string
  readonly status: number
  readonly heading: string
  /** The main part, without markup. */
  readonly text: string
  readonly messages: readonly string[]
  readonly errors: readonly string[]
  /** Paths of its links, and the values of the buttons of its tables. */
  readonly offered: readonly string[]
  /** What its fields hold, by their names. */
  readonly fields: Readonly<Record<string, string>>
}

interface Sent {
  readonly path: string
  readonly fields: Readonly<Record<string, Field>>
  /** The button of a table; otherwise the form of the page that has these fields is sent, at best one that posts to the path. */
  readonly button?: string
}

/**
 * Parses pages and sends their forms as a browser does, with each field that the form holds, and without showing them.
 * That takes a tenth of the time of a page that is shown.
 */
const FORMS = `(() => {
  const plain = (node) => node?.textContent.replaceAll(/\\s+/g, ' ').trim() ?? ''
  const all = (page, selector) => [...page.querySelectorAll(selector)]
  const parsed = async (answer) => new DOMParser().parseFromString(await answer.text(), 'text/html')
  const described = (answer, page) => {
    for (const script of all(page, 'script, noscript, toast')) script.remove()
    const said = (selector) => all(page, selector).map(plain).filter((text) => text !== '')
    return {
      path: new URL(answer.url).pathname,
      status: answer.status,
      heading: plain(page.querySelector('h1, .detail-header .h1')),
      text: plain(page.querySelector('#content_body') ?? page.body),
      messages: said('.alert-info, .alert-success'),
      errors: said('.messages .alert-danger, .messages .alert-warning, form .alert-danger, .has-error .help-block'),
      offered: [...all(page, 'a[href]').map((link) => link.getAttribute('href')), ...all(page, 'button[name=action]').map(({ value }) => value)],
      fields: Object.fromEntries(all(page, 'input[name], textarea[name]').map(({ name, value }) => [name, value])),
    }
  }
  const fill = (form, name, value) => {
    const boxes = all(form, '[name="' + name + '"]')
    if (boxes.length === 0) throw new Error('The form has no field ' + name)
    for (const box of boxes) {
      if (typeof value === 'boolean') box.checked = value
      else if (Array.isArray(value)) box.checked = value.includes(box.value)
      else box.value = value
      if (typeof value === 'string' && box.value !== value) throw new Error('The field ' + name + ' does not offer ' + value)
    }
  }
  return {
    open: async (path) => {
      const answer = await fetch(path)
      return described(answer, await parsed(answer))
    },
    send: async ({ path, fields, button }) => {
      const page = await parsed(await fetch(path))
      const pressed = all(page, 'button').find((each) => each.value === button || each.id === button)
      if (button !== undefined && pressed === undefined) throw new Error(path + ' has no button ' + button + ': ' + plain(page.querySelector('#content_body')))
      const posts = all(page, 'form[action][method=POST i]')
      const own = posts.filter((each) => each.getAttribute('action').startsWith(path.split('?')[0]))
      const form = pressed?.closest('form') ?? [...own, ...posts].find((each) => Object.keys(fields).every((name) => each.elements.namedItem(name) !== null)) ?? own[0]
      if (form === undefined) throw new Error(path + ' has no form: ' + plain(page.querySelector('#content_body')))
      for (const [name, value] of Object.entries(fields)) fill(form, name, value)
      const body = new URLSearchParams(new FormData(form, pressed))
      const answer = await fetch(form.getAttribute('action'), { method: 'POST', body })
      return described(answer, await parsed(answer))
    },
    change: async (method, path, body) => {
      const token = (await parsed(await fetch('/settings/'))).querySelector('[name=csrfmiddlewaretoken]').value
      const headers = { 'X-Requested-With': 'XMLHttpRequest', 'X-CSRFToken': token, 'Content-Type': 'application/json' }
      const answer = await fetch(path, { method, headers, body: JSON.stringify(body) })
      return { status: answer.status, text: await answer.text() }
    },
  }
})()`

/** A person at Horizon, whose forms are sent as its pages hold them. */
export class HorizonForms {
  readonly #browser: Browser
  readonly #url: string
  #user: string | undefined

  constructor(browser: Browser, url: string) {
    this.#browser = browser
    this.#url = url
  }

  /** Afterwards the requests are this user's. */
  async signIn({ user, password }: Account): Promise<void> {
    if (user === this.#user) return
    await this.#browser.open(`${this.#url}/auth/logout/`)
    await this.#browser.until('the form', `document.querySelector('#id_username') !== null`)
    const fields = { username: user, password }
    const shown = await this.#ask<Shown>('send', { path: '/auth/login/', fields })
    if (shown.heading !== 'Overview') throw new Error(`The login was answered: ${shown.text}`)
    this.#user = user
  }

  open(path: string): Promise<Shown> {
    return this.#ask('open', path)
  }

  /** Sends a form with what its page holds and these fields. */
  send(sent: Sent): Promise<Shown> {
    return this.#ask('send', sent)
  }

  /** Calls what the scripts of Horizon's pages call. */
  change(
    method: 'PATCH' | 'POST',
    path: string,
    body: object,
  ): Promise<{ readonly status: number; readonly text: string }> {
    return this.#ask('change', method, path, body)
  }

  /** Resolves once the page shows this. */
  async untilShown(path: string, text: string): Promise<void> {
    const isShown = async () => (await this.open(path)).text.includes(text)
    await waitFor(`${path} to show ${text}`, isShown, LIMIT_MS)
  }

  #ask<Answer>(what: 'open' | 'send' | 'change', ...parameters: readonly unknown[]) {
    const given = parameters.map((each) => JSON.stringify(each)).join(', ')
    return this.#browser.value(`${FORMS}.${what}(${given})`) as Promise<Answer>
  }
}
