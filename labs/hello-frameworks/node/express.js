// Hello on express: node express.js PORT
'use strict';

const express = require('express');

const app = express();
app.get('/', (request, response) => response.type('text').send('hello world'));
app.listen(Number(process.argv[2]), '127.0.0.1');
