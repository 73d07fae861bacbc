// The methods of a response that look into its HTML: html(), submitForm(), clickLink().

import http from 'k6/http';
import { parseHTML } from 'plimsoll:html';
import { library } from 'plimsoll:html/core';

function resolved(address, response) {
  return new (library('https://jslib.k6.io/url/index.js').URL)(address, response.url).href;
}

// The page, or what a selector finds in it.
export function html(response, selector) {
  const page = parseHTML(response.body, response.url);
  return selector === undefined ? page : page.find(selector);
}

// Requests what the first link leads to that matches.
export function clickLink(response, { selector = 'a[href]', params } = {}) {
  const link = html(response, selector).first();
  if (link.size() === 0) throw new Error(`no link of '${response.url}' matches '${selector}'`);
  const address = link.attr('href');
  if (address === undefined) throw new Error(`the link that matches '${selector}' has no href`);
  return http.get(resolved(address, response), params);
}

// Submits the first form that matches, with the values that it has and those of `fields`.
export function submitForm(response, options = {}) {
  const { formSelector = 'form', submitSelector = '[type="submit"]', fields, params } = options;
  const form = html(response, formSelector).first();
  if (form.size() === 0) throw new Error(`no form of '${response.url}' matches '${formSelector}'`);
  const values = form.serializeObject();
  const button = form.find(submitSelector).first();
  const name = button.attr('name');
  if (name !== undefined) values[name] = button.val() || '';
  Object.assign(values, fields);
  const address = resolved(form.attr('action', ''), response);
  const method = form.attr('method', 'get').toUpperCase();
  if (method !== 'GET') return http.request(method, address, values, params);
  const { URL, URLSearchParams } = library('https://jslib.k6.io/url/index.js');
  const url = new URL(address);
  const pairs = Object.entries(values).flatMap(([key, value]) =>
    [].concat(value).map((one) => [key, one]),
  );
  url.search = new URLSearchParams(pairs).toString();
  return http.get(url.href, params);
}
